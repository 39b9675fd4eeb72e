"""Fewer points for a chart, without losing peaks: pure functions on arrays with NaN for missing ticks."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray


def fold_max(values: FloatArray, fold: int) -> FloatArray:
    """The maximum of every `fold` ticks; missing where all of them are."""
    return values if fold == 1 else np.asarray(np.fmax.reduce(_folded(values, fold), axis=1))


def fold_sum(values: FloatArray, fold: int) -> FloatArray:
    """The sum of every `fold` ticks; missing where all of them are."""
    if fold == 1:
        return values
    folded = _folded(values, fold)
    return np.where(np.isnan(folded).all(axis=1), np.nan, np.nansum(folded, axis=1))


def runs(flags: np.typing.NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """First tick and end (exclusive) of each run of true ticks."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def pick(weight: FloatArray, limit: int) -> IntArray:
    """Indices of the `limit` largest weights, in order of position; all if there are no more."""
    if len(weight) <= limit:
        return np.arange(len(weight))
    return np.sort(np.argpartition(weight, len(weight) - limit)[len(weight) - limit :])


def median_per_tick(tick: IntArray, bucket: IntArray, count: IntArray, size: int) -> FloatArray:
    """Median (µs) of the latency histogram of each tick 0..size-1, from entries in any order; NaN where it is empty."""
    result = np.full(size, np.nan)
    kept = (tick >= 0) & (tick < size) & (count > 0)
    if not kept.any():
        return result
    tick, bucket, count = tick[kept], bucket[kept], count[kept]
    order = np.lexsort((bucket, tick))
    tick, bucket, count = tick[order], bucket[order], count[order]
    cumulated = np.cumsum(count)
    present, first = np.unique(tick, return_index=True)
    before = cumulated[first] - count[first]
    total = np.diff(np.append(before, cumulated[-1]))
    at = np.searchsorted(cumulated, before + (total - 1) // 2, side="right")
    result[present] = value_of(bucket[at])
    return result


def _folded(values: FloatArray, fold: int) -> FloatArray:
    padding = -len(values) % fold
    padded = np.concatenate([values, np.full(padding, np.nan)]) if padding else values
    return padded.reshape(-1, fold)
