"""Rollups of a window, including what compaction has not reached yet."""

from __future__ import annotations

from collections.abc import Sequence

from jitterscope.kit.allowance import borrowed
from jitterscope.series import read_ticks, rollups
from jitterscope.series.read_ticks import Scope
from jitterscope.series.rollups import Level, Rollup
from jitterscope.series.types import TICK_US
from jitterscope.series.window import Window

# Memory limit: ticks of all series that are read at once.
_MAX_TICKS = 4_000_000
_HOUR_US = 3_600_000_000


def read(scope: Scope, series: Sequence[int], window: Window, level: Level, *, totals: bool = True) -> Rollup:
    """Arrays (series, steps) of a window that is aligned to the level's step; without `totals`, totals stay NaN."""
    # Landed data is read first: compaction may move it to rollups meanwhile. Data seen twice changes no extreme and no
    # mean.
    landed = _landed(scope, series, window, level)
    rollup = rollups.read(scope.session, level, series, window.start_us, window.ticks, totals=totals)
    for row, first, part in landed:
        rollup.add(row, first, part)
    return rollup


def _landed(scope: Scope, series: Sequence[int], window: Window, level: Level) -> list[tuple[int, int, Rollup]]:
    """(row, first step, rollup) of what compaction has not reached yet; the rest has rollups."""
    first_us = read_ticks.first_landed_us(scope, window)
    if first_us is None:
        return []
    first = max(0, first_us - window.start_us) // level.step_us
    start_us = window.start_us + first * level.step_us
    factor = level.step_us // TICK_US
    # Whole steps: as many as keep the ticks of all series within the limit, but at least an hour.
    piece_us = max(_HOUR_US, _MAX_TICKS // len(series) // factor * level.step_us)
    result: list[tuple[int, int, Rollup]] = []
    for at_us in range(start_us, window.end_us, piece_us):
        piece = Window.around(at_us, min(at_us + piece_us, window.end_us), TICK_US)
        with borrowed():
            found = read_ticks.read(scope, series, piece, landed_only=True)
            for row, identity in enumerate(series):
                if identity in found:
                    low, high, total, ticks = rollups.roll_ticks(found[identity][None, :], factor).parts
                    place = first + (at_us - start_us) // level.step_us
                    result.append((row, place, Rollup(low[0], high[0], total[0], ticks[0])))
    return result
