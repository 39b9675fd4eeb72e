"""Rollups: minimum, maximum, sum, and count of ticks per second, five seconds, and minute, in packed rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.kit.allowance import borrowed, hold
from jitterscope.series import codec
from jitterscope.series.runs import runs
from jitterscope.series.store import rollups as store
from jitterscope.series.types import FloatArray
from jitterscope.series.window import MAX_ROW_US

_MERGED_AT_ONCE = 200
# Limits of what is in memory besides the result: values decoded together, and rows received together (up to 130 kB).
_MAX_VALUES, _READ_AT_ONCE = 1_000_000, 100


@dataclass(frozen=True, slots=True)
class Level:
    """`row_us` is the time that a long row covers after short ones are merged into it."""

    table: str
    step_us: int
    row_us: int


SECOND = Level("series_rollups_1s", 1_000_000, 3_600_000_000)
FIVE_SECONDS = Level("series_rollups_5s", 5_000_000, 21_600_000_000)
MINUTE = Level("series_rollups_1m", 60_000_000, 86_400_000_000)
LEVELS = (SECOND, FIVE_SECONDS, MINUTE)


@dataclass(frozen=True, slots=True)
class Rollup:
    """Arrays of one shape (…, steps). Where `ticks` is 0, the others are NaN."""

    low: FloatArray
    high: FloatArray
    total: FloatArray
    ticks: FloatArray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Rollup:
        nothing = np.full((3, *shape), np.nan)
        return cls(nothing[0], nothing[1], nothing[2], np.zeros(shape))

    def rows(self, chosen: NDArray[np.int64] | slice, steps: slice) -> Rollup:
        return Rollup(*(part[chosen, steps] for part in self.parts))

    @property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        return self.low, self.high, self.total, self.ticks

    def add(self, row: int, first: int, other: Rollup) -> None:
        """Combine another one-dimensional rollup into a row from step `first` on; parts outside the row are cut off."""
        skip = max(0, -first)
        length = min(other.low.shape[0], self.low.shape[1] - first) - skip
        if length <= 0:
            return
        here, there = slice(first + skip, first + skip + length), slice(skip, skip + length)
        if not self.ticks[row, here].any():  # nothing there yet, as nearly always
            for own, part in zip(self.parts, other.parts, strict=True):
                own[row, here] = part[there]
            return
        self.low[row, here] = np.fmin(self.low[row, here], other.low[there])
        self.high[row, here] = np.fmax(self.high[row, here], other.high[there])
        both = self.total[row, here] + other.total[there]
        either = np.fmax(self.total[row, here], other.total[there])
        self.total[row, here] = np.where(np.isnan(both), either, both)
        self.ticks[row, here] += other.ticks[there]


def roll_ticks(values: FloatArray, factor: int) -> Rollup:
    """Roll up each row of (rows, ticks), `factor` ticks per step; the last step may have fewer."""
    steps = _folded(values, factor, np.nan)
    present = ~np.isnan(steps)
    ticks = present.sum(axis=2).astype(np.float64)
    total = np.where(present, steps, 0.0).sum(axis=2)
    total[ticks == 0] = np.nan
    return Rollup(np.fmin.reduce(steps, axis=2), np.fmax.reduce(steps, axis=2), total, ticks)


def roll_up(fine: Rollup, factor: int, *, totals: bool = True) -> Rollup:
    """Derive a coarser rollup from a finer one; without `totals`, totals stay NaN."""
    ticks = _folded(fine.ticks, factor, 0.0).sum(axis=2)
    total: FloatArray = np.full(ticks.shape, np.nan)
    if totals:
        total = np.nansum(_folded(fine.total, factor, np.nan), axis=2)
        total[ticks == 0] = np.nan
    return Rollup(
        np.fmin.reduce(_folded(fine.low, factor, np.nan), axis=2),
        np.fmax.reduce(_folded(fine.high, factor, np.nan), axis=2),
        total,
        ticks,
    )


def _folded(values: FloatArray, factor: int, filler: float) -> FloatArray:
    pad = -values.shape[1] % factor
    padded = np.pad(values, ((0, 0), (0, pad)), constant_values=filler) if pad else values
    return padded.reshape(len(values), -1, factor)


def write(
    session: Session, organization_id: int, level: Level, series: NDArray[np.int64], start_us: int, rollup: Rollup
) -> None:
    """Insert a row per series, trimmed to the steps that have ticks."""
    columns: list[list[object]] = [[] for _ in range(7)]
    for chosen, first, last in runs(rollup.ticks > 0):
        part = rollup.rows(chosen, slice(first, last))
        payloads = [codec.encode_segments(values) for values in part.parts]
        columns[0] += series[chosen].tolist()
        columns[1] += [start_us + first * level.step_us] * len(chosen)
        columns[2] += [last - first] * len(chosen)
        for column, values in zip(columns[3:], payloads, strict=True):
            column += values
    if columns[0]:
        store.add(session, level.table, organization_id, columns)


def read(
    session: Session,
    level: Level,
    series: Sequence[int],
    from_us: int,
    steps: int,
    earliest_us: int | None = None,
    before_us: int | None = None,
    *,
    totals: bool = True,
) -> Rollup:
    """Combined rollups of a window that starts at `from_us` (a multiple of the level's step): arrays (series, steps).

    Reads only rows that start in [earliest_us, before_us); by default all rows that reach into the window. Without
    `totals`, only the extremes are read: totals stay NaN, and ticks are 1 where there is data.
    """
    row_of = {identity: row for row, identity in enumerate(series)}
    hold(4 * 8 * len(series) * steps)
    result = Rollup.empty((len(series), steps))
    to_us = from_us + steps * level.step_us if before_us is None else before_us
    after_us = from_us - level.row_us - MAX_ROW_US if earliest_us is None else earliest_us - 1
    columns = 4 if totals else 2
    with store.rows(session, level.table, series, after_us, to_us, _READ_AT_ONCE, totals=totals) as found:
        for rows in counted.groups(found, lambda row: columns * int(row[2]), _MAX_VALUES):
            payloads = [payload for row in rows for payload in row[3:]]
            decoded = codec.decode_segments(payloads, [row[2] for row in rows for _ in range(columns)])
            for number, (identity, start_us, *_) in enumerate(rows):
                low, high, *rest = decoded[columns * number : columns * (number + 1)]
                total, ticks = rest or (np.full(len(low), np.nan), (~np.isnan(low)).astype(np.float64))
                first = (start_us - from_us) // level.step_us
                result.add(row_of[identity], first, Rollup(low, high, total, ticks))
    return result


def complete(session: Session, level: Level, finer: Level, series: Sequence[int], from_us: int, to_us: int) -> bool:
    """Whether a level covers all that a finer one does in a window: it lacks data compacted before it existed."""
    own, others = (
        store.first_us(session, one.table, series, from_us - one.row_us - MAX_ROW_US, to_us) for one in (level, finer)
    )
    return others is None or (own is not None and own <= others)


def merge_rows(session: Session, organization_id: int, level: Level, from_us: int) -> int:
    """Merge each series' short rows that start in [from_us, from_us + row_us); returns how many series changed.

    Longer rows that begin earlier stay as they are.
    """
    to_us = from_us + level.row_us
    found = store.in_several_rows(session, level.table, level.step_us, from_us, to_us)
    for at in range(0, len(found), _MERGED_AT_ONCE):
        chunk = found[at : at + _MERGED_AT_ONCE]
        series = [identity for identity, _ in chunk]
        # The last row can extend beyond the end of the window.
        steps = (max(end for _, end in chunk) - from_us) // level.step_us
        with borrowed():
            rollup = read(session, level, series, from_us, steps, earliest_us=from_us, before_us=to_us)
            store.remove(session, level.table, series, from_us, to_us)
            write(session, organization_id, level, np.array(series, np.int64), from_us, rollup)
    return len(found)
