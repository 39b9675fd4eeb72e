"""Opaque cursors of paged lists: a few integers in base64. They are positions, not secrets."""

from __future__ import annotations

import base64
import binascii


class BadCursor(ValueError):
    """The text is not a cursor that this list gave out."""


def encode(*values: int) -> str:
    """A cursor for a position."""
    return base64.urlsafe_b64encode(",".join(map(str, values)).encode()).decode().rstrip("=")


def decode(cursor: str, count: int) -> tuple[int, ...]:
    """The `count` integers of a cursor. Raises BadCursor for anything else."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        values = tuple(int(part) for part in text.split(","))
    except (binascii.Error, ValueError) as error:
        raise BadCursor("the cursor is damaged") from error
    if len(values) != count or any(not -(2**63) <= value < 2**63 for value in values):
        raise BadCursor("the cursor belongs to another list")
    return values
