"""Pages of lists: where one begins, and which lists need none.

    @router.get("/channels")
    @bounded(QUICK)
    @unpaged("An organization has at most 50 channels.")
    def list_channels(…)

A list that can grow takes a cursor, or a limit that its caller chooses. A test holds every route to this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jitterscope.errors import Problem
from jitterscope.kit import cursor as cursors

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


def unpaged(why: str) -> Callable[[Endpoint], Endpoint]:
    """Declare why the list of an endpoint stays short, so that it is answered as a whole."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.__unpaged__ = why  # type: ignore[attr-defined]
        return endpoint

    return declare


def position(cursor: str | None, count: int) -> tuple[int, ...] | None:
    """The `count` integers of a cursor; None for the first page. Raises Problem 400 for a cursor of another list."""
    try:
        return cursors.decode(cursor, count) if cursor else None
    except cursors.BadCursor as error:
        raise bad_cursor(str(error)) from error


def one_position(cursor: str | None) -> int | None:
    """As `position`, for a list whose cursors are one integer: an id or a count."""
    found = position(cursor, 1)
    return found[0] if found else None


def bad_cursor(why: str) -> Problem:
    """The answer to a cursor that does not belong to the requested list."""
    return Problem(400, "invalid-cursor", "Invalid cursor", why, "Start again without a cursor.")
