"""A window on the grid: maps ticks of rows that start anywhere into arrays of fixed length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jitterscope.kit.allowance import hold
from jitterscope.series.types import FloatArray

IntArray = NDArray[np.int64]

# No row covers more time than this (limits.MAX_TICKS of the coarsest step; compaction merges up to an hour).
MAX_ROW_US = 3_600_000_000


class Span(NamedTuple):
    """Rows that start in (after, before), have a step, and end after `ends_after_us`; all µs.

    How long a row is shows only when it is read: `after_us` is where the index begins, `ends_after_us` sorts out.
    """

    after_us: int
    before_us: int
    step_us: int
    ends_after_us: int


# Its condition, with the parameters in this order.
IN_SPAN = "start_us > %b AND start_us < %b AND step_us = %b AND start_us + tick_count::bigint * step_us > %b"


@dataclass(frozen=True, slots=True)
class Window:
    """Ticks [start_us, start_us + ticks * step_us)."""

    start_us: int
    ticks: int
    step_us: int

    @classmethod
    def around(cls, from_us: int, to_us: int, step_us: int) -> Window:
        """The smallest window of whole ticks that covers [from_us, to_us). Raises ValueError if it is reversed."""
        if to_us < from_us:
            raise ValueError(f"the window ends at {to_us}, before it begins at {from_us}")
        start_us = from_us - from_us % step_us
        return cls(start_us, -(-(to_us - start_us) // step_us), step_us)

    @property
    def end_us(self) -> int:
        return self.start_us + self.ticks * self.step_us

    @property
    def earliest_row_us(self) -> int:
        """Rows that start at or before this cannot reach into the window."""
        return self.start_us - MAX_ROW_US

    @property
    def rows(self) -> Span:
        """The rows that reach into the window."""
        return Span(self.earliest_row_us, self.end_us, self.step_us, self.start_us)


class Grid:
    """Arrays of a window, one per series, filled row by row. What is never filled stays NaN."""

    def __init__(self, window: Window, series: list[int]) -> None:
        self.window = window
        self._row_of = {identity: row for row, identity in enumerate(series)}
        # Only rows with data take memory: most wanted series have no tick.
        self._values: FloatArray = np.empty((len(series), window.ticks))
        self._taken = np.zeros(len(series), np.bool_)
        self._filled = np.zeros(len(series), np.bool_)

    def put(self, series: list[int], blocks: Sequence[tuple[int, FloatArray]]) -> None:
        """Put blocks of the same series in one order: (start_us, values (series, ticks)). Missing ticks change none.

        Touches only the ticks from the first block to the last: a large window is put together from many calls.
        """
        window = self.window
        rows = np.fromiter((self._row_of[identity] for identity in series), np.int64, len(series))
        placed = [((start_us - window.start_us) // window.step_us, values) for start_us, values in blocks]
        low = max(0, min(first for first, _ in placed))
        high = min(window.ticks, max(first + values.shape[1] for first, values in placed))
        if low >= high:
            return
        joined = np.full((len(series), high - low), np.nan)
        for first, values in placed:
            source = values[:, max(0, low - first) : max(0, high - first)]
            target = joined[:, max(0, first - low) : max(0, first - low) + source.shape[1]]
            np.copyto(target, source, where=~np.isnan(source))
        present = ~np.isnan(joined)
        again = self._taken[rows]
        new = rows[~again]
        hold(len(new) * window.ticks * 8)
        self._taken[new] = True
        self._values[new, :low] = np.nan
        self._values[new, high:] = np.nan
        if again.any():
            joined[again] = np.where(present[again], joined[again], self._values[rows[again], low:high])
        self._values[rows, low:high] = joined
        self._filled[rows] |= present.any(axis=1)

    def put_long(self, series: int, start_us: int, values: FloatArray) -> None:
        """Put one long row; cheaper than `put` because it is a slice."""
        row = self._row_of[series]
        first = (start_us - self.window.start_us) // self.window.step_us
        source = values[max(0, -first) : max(0, self.window.ticks - first)]
        if not len(source):
            return
        if not self._taken[row]:
            hold(self.window.ticks * 8)
            self._taken[row] = True
            self._values[row] = np.nan
        target = self._values[row, max(0, first) : max(0, first) + len(source)]
        present = ~np.isnan(source)
        target[present] = source[present]
        self._filled[row] |= bool(present.any())

    def arrays(self) -> dict[int, FloatArray]:
        """The array of each series that has at least one tick."""
        return {identity: self._values[row] for identity, row in self._row_of.items() if self._filled[row]}
