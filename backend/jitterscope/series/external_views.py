"""Samples of other systems as charts show them: raw, counters per second, histograms by quantile.

Points lie on one grid per answer. A step is at least 1.5 times the sampling interval, so that a point without a sample
is a gap in the data and not an artifact of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitterscope.series.types import FloatArray, IntArray

# Samples further apart than this (and than four intervals) are not connected: the sender was away.
_LONGEST_GAP_US = 300_000_000
# A rate at the first point needs a sample from before it.
LEAD_US = _LONGEST_GAP_US
_SHORTEST_STEP_US = 1_000_000
QUANTILES = (0.5, 0.9, 0.99)

Samples = tuple[IntArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Grid:
    """Points from start_us, step_us apart."""

    start_us: int
    step_us: int
    points: int

    @classmethod
    def over(cls, from_us: int, to_us: int, most_points: int, interval_us: int) -> Grid:
        """The grid of a window, for series sampled at an interval."""
        step_us = max(_SHORTEST_STEP_US, -(-(to_us - from_us) // most_points), interval_us * 3 // 2)
        step_us = -(-step_us // _SHORTEST_STEP_US) * _SHORTEST_STEP_US
        start_us = from_us - from_us % step_us
        return cls(start_us, step_us, -(-(to_us - start_us) // step_us))

    def point_of(self, times_us: IntArray) -> IntArray:
        """The points that times fall into; outside the grid below 0 or from `points` on."""
        return (times_us - self.start_us) // self.step_us


def interval_us(samples: Sequence[IntArray]) -> int:
    """The median sample distance of the series sampled least often; 0 if it cannot be determined."""
    usual = [int(np.median(np.diff(times))) for times in samples if len(times) > 1]
    return max(usual, default=0)


def raw(samples: Samples, grid: Grid) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Lowest, mean, and highest sample of each point."""
    times, values = samples
    low, mean, high = (np.full(grid.points, np.nan) for _ in range(3))
    point = grid.point_of(times)
    inside = (point >= 0) & (point < grid.points)
    point, values = point[inside], values[inside]
    if len(point):
        used, first = np.unique(point, return_index=True)
        low[used], high[used] = np.fmin.reduceat(values, first), np.fmax.reduceat(values, first)
        mean[used] = np.add.reduceat(values, first) / np.diff(np.append(first, len(values)))
    return low, mean, high


def rate(samples: Samples, grid: Grid) -> FloatArray:
    """Increase of a counter per second, by point."""
    increases, covered_s = _increases(samples, grid)
    result = np.full(grid.points, np.nan)
    known = covered_s > 0
    result[known] = increases[known] / covered_s[known]
    return result


def quantiles(buckets: Sequence[tuple[float, Samples]], grid: Grid) -> list[FloatArray]:
    """QUANTILES of a classic histogram by point, from the increases of its buckets (upper bound, samples).

    Interpolated within a bucket as Prometheus does: from 0 below the lowest bound, and no higher than the highest.
    """
    ordered = sorted(buckets, key=lambda bucket: bucket[0])
    empty = [np.full(grid.points, np.nan) for _ in QUANTILES]
    if len(ordered) < 2 or not np.isposinf(ordered[-1][0]):
        return empty
    bounds = np.array([bound for bound, _ in ordered])
    grown = [_increases(samples, grid) for _, samples in ordered]
    # Buckets scraped a moment apart may decrease towards the upper ones, although they are cumulative.
    counts = np.maximum.accumulate(np.array([increases for increases, _ in grown]), axis=0)
    known = np.flatnonzero((grown[-1][1] > 0) & (counts[-1] > 0))
    for result, quantile in zip(empty, QUANTILES, strict=True):
        rank = quantile * counts[-1, known]
        at = np.argmax(counts[:, known] >= rank, axis=0)
        last = at == len(bounds) - 1
        below = np.maximum(at - 1, 0)
        lower = np.where(at == 0, np.minimum(0.0, bounds[0]), bounds[below])
        before = np.where(at == 0, 0.0, counts[below, known])
        inside = counts[at, known] - before
        share = np.divide(rank - before, inside, out=np.ones(len(known)), where=inside > 0)
        upper = np.where(last, bounds[-2], bounds[at])
        result[known] = np.where(last | ((at == 0) & (bounds[0] <= 0)), upper, lower + (upper - lower) * share)
    return empty


def _increases(samples: Samples, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """The increase of a counter in each point, and the seconds for which it is known. After a reset it starts at 0."""
    times, values = samples
    increases, covered_s = np.zeros(grid.points), np.zeros(grid.points)
    if len(times) < 2:
        return increases, covered_s
    apart_us = np.diff(times)
    grown = np.diff(values)
    grown = np.where(grown < 0, values[1:], grown)
    point = grid.point_of(times[1:])
    longest = max(_LONGEST_GAP_US, 4 * int(np.median(apart_us)))
    good = (point >= 0) & (point < grid.points) & np.isfinite(grown) & (apart_us <= longest)
    np.add.at(increases, point[good], grown[good])
    np.add.at(covered_s, point[good], apart_us[good] / 1e6)
    return increases, covered_s
