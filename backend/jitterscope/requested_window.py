"""Points and windows of time as requests give them. Invalid ones raise Problem 422."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from jitterscope.errors import Problem
from jitterscope.kit.instant import BadInstant, parse_us
from jitterscope.paging import bad_cursor, position
from jitterscope.series.types import TICK_US

_POINT = Query(max_length=40, description="RFC 3339 with a time zone, or µs since the epoch")
When = Annotated[str | None, _POINT]
From = Annotated[When, Query(alias="from")]
RequiredWhen = Annotated[str, _POINT]
RequiredFrom = Annotated[RequiredWhen, Query(alias="from")]
_MIN_US, _HOUR_US = 60_000_000, 3_600_000_000


def instant(text: str) -> int:
    """µs since the epoch."""
    try:
        return parse_us(text)
    except BadInstant as error:
        raise Problem(422, "invalid-time", "Invalid time", str(error), "Use 2026-11-21T09:30:00Z.") from error


def instant_or_none(text: str | None) -> int | None:
    """As `instant`, for an optional parameter."""
    return None if text is None else instant(text)


def check_window(from_us: int, to_us: int, longest_us: int) -> None:
    """Raise Problem if the window is empty or longer than `longest_us`."""
    if not from_us < to_us <= from_us + longest_us:
        longest = f"{longest_us // _HOUR_US} h" if longest_us % _HOUR_US == 0 else f"{longest_us // _MIN_US} min"
        raise Problem(
            422,
            "invalid-window",
            "Invalid window",
            f"`from` must be before `to`, by at most {longest}.",
            "Choose a shorter window.",
        )


def newest_window(from_: str | None, to: str | None, now_us: int, default_us: int, longest_us: int) -> tuple[int, int]:
    """[from, to) in µs; without `to` it ends now, without `from` it is `default_us` long."""
    to_us, from_us = instant_or_none(to), instant_or_none(from_)
    until_us = to_us if to_us is not None else now_us
    since_us = from_us if from_us is not None else until_us - default_us
    if to_us is None:  # time has passed since the caller looked at the clock
        since_us = max(since_us, until_us - longest_us)
    check_window(since_us, until_us, longest_us)
    return since_us, until_us


def on_grid(since_us: int, until_us: int) -> tuple[int, int]:
    """Both rounded down to ticks, at least one tick apart."""
    start_us = since_us - since_us % TICK_US
    return start_us, max(until_us - until_us % TICK_US, start_us + TICK_US)


def page_in_minutes(
    cursor: str | None, from_: str | None, to: str | None, now_us: int, default_us: int, longest_us: int
) -> tuple[int, int, int]:
    """A window widened to whole minutes, and the number of entries before the page.

    A cursor holds all three: later pages belong to the window of the first one.
    """
    at = position(cursor, 3)
    if at is None:
        from_us, to_us = newest_window(from_, to, now_us, default_us, longest_us)
        start_us = from_us - from_us % _MIN_US
        return start_us, start_us + -(-(to_us - start_us) // _MIN_US) * _MIN_US, 0
    from_us, to_us, first = at
    if first < 0 or from_us % _MIN_US or to_us % _MIN_US:
        raise bad_cursor("the cursor belongs to another list")
    check_window(from_us, to_us, longest_us + 2 * _MIN_US)
    return from_us, to_us, first
