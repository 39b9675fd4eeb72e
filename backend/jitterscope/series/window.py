"""A window on the grid: maps ticks of rows that start anywhere into arrays of fixed length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jitterscope.kit.allowance import hold
from jitterscope.series.types import FloatArray

IntArray = NDArray[np.int64]

# No row covers more time than this (limits.MAX_TICKS of the coarsest step; compaction merges up to an hour).
MAX_ROW_US = 3_600_000_000


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


class Grid:
    """Arrays of a window, one per series, filled row by row. What is never filled stays NaN."""

    def __init__(self, window: Window, series: list[int]) -> None:
        self.window = window
        self._row_of = {identity: row for row, identity in enumerate(series)}
        # Only filled rows take memory: most wanted series have no tick.
        self._values: FloatArray = np.empty((len(series), window.ticks))
        self._filled = np.zeros(len(series), np.bool_)

    def put(self, series: list[int], blocks: Sequence[tuple[int, FloatArray]]) -> None:
        """Put blocks of the same series in one order: (start_us, values (series, ticks)). Missing ticks change none."""
        rows = np.fromiter((self._row_of[identity] for identity in series), np.int64, len(series))
        again = self._filled[rows]
        hold(int((~again).sum()) * self.window.ticks * 8)
        joined = np.full((len(series), self.window.ticks), np.nan)
        for start_us, values in blocks:
            first = (start_us - self.window.start_us) // self.window.step_us
            source = values[:, max(0, -first) : max(0, self.window.ticks - first)]
            target = joined[:, max(0, first) : max(0, first) + source.shape[1]]
            np.copyto(target, source, where=~np.isnan(source))
        present = ~np.isnan(joined)
        if again.any():
            joined[again] = np.where(present[again], joined[again], self._values[rows[again]])
        self._values[rows] = joined
        self._filled[rows] |= present.any(axis=1)

    def put_long(self, series: int, start_us: int, values: FloatArray) -> None:
        """Put one long row; cheaper than `put` because it is a slice."""
        row = self._row_of[series]
        first = (start_us - self.window.start_us) // self.window.step_us
        source = values[max(0, -first) : max(0, self.window.ticks - first)]
        if not len(source):
            return
        if not self._filled[row]:
            hold(self.window.ticks * 8)
            self._values[row] = np.nan
        target = self._values[row, max(0, first) : max(0, first) + len(source)]
        present = ~np.isnan(source)
        target[present] = source[present]
        self._filled[row] |= bool(present.any())

    def arrays(self) -> dict[int, FloatArray]:
        """The array of each series that has at least one tick."""
        return {identity: self._values[row] for identity, row in self._row_of.items() if self._filled[row]}
