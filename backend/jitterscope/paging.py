"""The cursor of lists that are ordered by id, newest first."""

from __future__ import annotations

from jitterscope.errors import Problem
from jitterscope.kit import cursor as cursors


def before_id(cursor: str | None) -> int | None:
    """The id before which a page begins; None: it is the first. Raises Problem 400 for what is not a cursor."""
    try:
        return cursors.decode(cursor, 1)[0] if cursor else None
    except cursors.BadCursor as error:
        raise Problem(400, "invalid-cursor", "Invalid cursor", str(error), "Start again without a cursor.") from error
