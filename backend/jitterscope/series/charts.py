"""Series reduced to the points of a chart; each point has the lowest and the highest tick of its span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope.kit.allowance import borrowed
from jitterscope.series import read_distributions, read_ticks, rolled, rollups
from jitterscope.series.quantiles import BUCKETS, quantiles_us
from jitterscope.series.read_ticks import Scope
from jitterscope.series.rollups import Level, Rollup
from jitterscope.series.types import TICK_US, FloatArray, IntArray
from jitterscope.series.window import Window

Resolution = Literal["tick", "second", "five_seconds", "minute", "sample"]
_RESOLUTIONS: dict[int, Resolution] = {1_000_000: "second", 5_000_000: "five_seconds", 60_000_000: "minute"}
# Memory limits: rolled-up steps and ticks of all series together.
_MAX_STEPS = 1_500_000
_MAX_TICKS = 4_000_000
_MAX_QUANTILE_POINTS = 2000


@dataclass(frozen=True, slots=True)
class Chart:
    """Parallel arrays, one entry per point, which starts at start_us + i * step_us; NaN where no tick was recorded."""

    start_us: int
    step_us: int
    resolution: Resolution
    low: FloatArray
    high: FloatArray
    mean: FloatArray


@dataclass(frozen=True, slots=True)
class QuantileChart:
    """Quantiles (µs) of a distribution per point; `count` is observations; NaN where there were none."""

    start_us: int
    step_us: int
    p50: FloatArray
    p99: FloatArray
    high: FloatArray
    count: NDArray[np.int64]


def chart(
    scope: Scope,
    series: Sequence[int],
    from_us: int,
    to_us: int,
    points: int,
    tick_us: int = TICK_US,
    *,
    means: bool = True,
) -> dict[int, Chart]:
    """At most `points` (+1 for alignment) points of each series id in [from_us, to_us).

    Uses ticks where there are few enough for the points, otherwise rollups of 1 s, 5 s, or 1 min; what is not rolled up
    yet comes from ticks. Where retention has removed the ticks, the finest remaining rollup is used. Means cost a third
    of the time.
    """
    span_us = max(to_us - from_us, tick_us)
    step_us = -(-span_us // points)
    level = next((level for level in reversed(rollups.LEVELS) if level.step_us <= step_us), None)
    if tick_us < TICK_US or level is None:
        found = _of_ticks(scope, series, from_us, to_us, step_us, tick_us)
        if len(found) == len(series) or tick_us < TICK_US:
            return found
        levels = list(rollups.LEVELS)
    else:
        found = {}
        if level is rollups.FIVE_SECONDS and not rollups.complete(
            scope.session, level, rollups.SECOND, series, from_us, to_us
        ):
            level = rollups.SECOND
        levels = [one for one in rollups.LEVELS if one.step_us >= level.step_us]
    for one in levels:
        missing = [identity for identity in series if identity not in found]
        at_once = max(1, _MAX_STEPS // (span_us // one.step_us + 1))
        for at in range(0, len(missing), at_once):
            part = missing[at : at + at_once]
            with borrowed():
                found |= _of_rollups(scope, part, from_us, to_us, step_us, one, means)
    return found


def chart_of_samples(times_us: IntArray, values: FloatArray, from_us: int, to_us: int, points: int) -> Chart:
    """As `chart`, for samples at arbitrary times (µs, ascending)."""
    step_us = max(1_000_000, -(-(to_us - from_us) // points))
    start_us = from_us - from_us % step_us
    point = (times_us - start_us) // step_us
    used, first = np.unique(point, return_index=True)
    low, high, mean = (np.full(-(-(to_us - start_us) // step_us), np.nan) for _ in range(3))
    low[used], high[used] = np.fmin.reduceat(values, first), np.fmax.reduceat(values, first)
    mean[used] = np.add.reduceat(values, first) / np.diff(np.append(first, len(values)))
    return Chart(start_us, step_us, "sample", low, high, mean)


def quantile_chart(session: Session, series: int, from_us: int, to_us: int, points: int) -> QuantileChart:
    """p50, p99, and the highest value of a distribution over time; ticks are merged by adding counts."""
    factor = max(1, -(-(to_us - from_us) // (min(points, _MAX_QUANTILE_POINTS) * TICK_US)))
    step_us = factor * TICK_US
    start_us = from_us - from_us % step_us
    points = -(-(to_us - start_us) // step_us)
    counts = np.zeros((points, BUCKETS), np.int64)
    for window, found in read_distributions.pieces(session, series, start_us, to_us):
        point = (found.tick * TICK_US + window.start_us - start_us) // step_us
        np.add.at(counts, (point, found.bucket), found.count)
    p50, p99, high = quantiles_us(counts, (0.5, 0.99, 1.0))
    return QuantileChart(start_us, step_us, p50, p99, high, counts.sum(axis=1))


def _of_ticks(
    scope: Scope,
    series: Sequence[int],
    from_us: int,
    to_us: int,
    step_us: int,
    tick_us: int,
) -> dict[int, Chart]:
    factor = max(1, -(-step_us // tick_us))
    window = Window.around(from_us - from_us % (factor * tick_us), to_us, tick_us)
    charts: dict[int, Chart] = {}
    at_once = max(1, _MAX_TICKS // max(1, window.ticks))
    for at in range(0, len(series), at_once):
        with borrowed():
            for identity, values in read_ticks.read(scope, series[at : at + at_once], window).items():
                rollup = rollups.roll_ticks(values[None, :], factor)
                charts[identity] = _as_chart(rollup, 0, window.start_us, factor * tick_us, "tick")
    return charts


def _of_rollups(
    scope: Scope,
    series: Sequence[int],
    from_us: int,
    to_us: int,
    step_us: int,
    level: Level,
    means: bool,
) -> dict[int, Chart]:
    if not series:
        return {}
    factor = max(1, -(-step_us // level.step_us))
    window = Window.around(from_us - from_us % (factor * level.step_us), to_us, level.step_us)
    rollup = rolled.read(scope, series, window, level, totals=means)
    coarse = rollups.roll_up(rollup, factor, totals=means)
    return {
        identity: _as_chart(coarse, row, window.start_us, factor * level.step_us, _RESOLUTIONS[level.step_us])
        for row, identity in enumerate(series)
        if coarse.ticks[row].any()
    }


def _as_chart(rollup: Rollup, row: int, start_us: int, step_us: int, resolution: Resolution) -> Chart:
    ticks = rollup.ticks[row]
    mean = np.divide(rollup.total[row], ticks, out=np.full(len(ticks), np.nan), where=ticks > 0)
    return Chart(start_us, step_us, resolution, rollup.low[row], rollup.high[row], mean)
