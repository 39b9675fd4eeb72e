"""Small checks used by validation. Each raises Problem with what is wrong and where."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from jitterscope.errors import Problem
from jitterscope.ingest.body import malformed
from jitterscope.ingest.limits import MAX_FUTURE_US


def check(condition: bool, why: str) -> None:
    """Raise Problem 400 unless the condition holds."""
    if not condition:
        raise malformed(why)


def at_most(count: int, limit: int, what: str) -> None:
    check(count <= limit, f"it has {count} {what}, more than {limit}")


def text(value: str, limit: int, what: str, *, empty: bool = True) -> str:
    """Check a text; PostgreSQL can store everything that protobuf accepts except NUL."""
    check(len(value.encode()) <= limit, f"{what} is longer than {limit} bytes")
    check("\0" not in value, f"{what} contains a NUL character")
    check(empty or bool(value), f"{what} is empty")
    return value


def index(value: int, size: int, what: str) -> int:
    check(value < size, f"{what} refers to index {value} of {size}")
    return value


def column(values: Sequence[int], length: int, what: str, limit: int = 2**32 - 1) -> NDArray[np.int64]:
    """A repeated field as an array of the expected length with values in [0, limit]."""
    check(len(values) == length, f"{what} has {len(values)} entries instead of {length}")
    array = np.fromiter(values, np.int64, length)
    if length:
        check(int(array.max()) <= limit and int(array.min()) >= 0, f"{what} has a value outside 0 to {limit}")
    return array


CLOCK_AHEAD = "clock-ahead"
# Times this far off come from a broken clock or an attacker: nothing in the batch can be trusted.
_ABSURD_US = 1200 * 86_400_000_000


class Clock:
    """The times that a batch may carry: not older than what is kept, not in the future."""

    def __init__(self, now_us: int, oldest_us: int) -> None:
        self._oldest_us, self._newest_us = oldest_us, now_us + MAX_FUTURE_US
        self.first_us: int | None = None
        self.last_us: int | None = None

    def check(self, at_us: int, what: str) -> int:
        """Raise Problem 400 for a time outside, for the caller to log: the collector's clock is probably wrong."""
        if at_us > self._newest_us:
            ahead_s = (at_us - self._newest_us + MAX_FUTURE_US) / 1e6
            why = f"{what} is {ahead_s:.0f} s in the future"
            raise _clock(CLOCK_AHEAD, why) if ahead_s > _ABSURD_US / 1e6 else OutOfTime(CLOCK_AHEAD, why)
        if at_us < self._oldest_us:
            now_us = self._newest_us - MAX_FUTURE_US
            if at_us < now_us - _ABSURD_US:
                raise _clock("too-old", f"{what} is years in the past")
            days = (now_us - self._oldest_us) / 86_400e6
            raise OutOfTime("too-old", f"{what} is older than the {days:g} days for which data are accepted")
        return at_us

    def stored(self, at_us: int, what: str) -> int:
        """As `check`, for a time that decides the partition of a row."""
        self.check(at_us, what)
        self.first_us = at_us if self.first_us is None else min(self.first_us, at_us)
        self.last_us = at_us if self.last_us is None else max(self.last_us, at_us)
        return at_us


class OutOfTime(Problem):
    """A part of a batch is too old to be accepted, or from the future.

    The rest of the batch can be valid: setting the clock meanwhile leaves ticks of both times in one batch.
    """

    def __init__(self, slug: str, why: str) -> None:
        problem = _clock(slug, why)
        self.why = why
        super().__init__(problem.status, problem.type, problem.title, problem.detail, problem.what_to_do)


def _clock(slug: str, why: str) -> Problem:
    return Problem(
        400,
        slug,
        "Time out of range",
        f"The batch was rejected: {why}. Nothing of it was stored.",
        "Check the clock of the collector's machine (NTP); drop a batch that is too old.",
    )
