"""Quantiles from the log-bucket histograms of ingest.proto (DDSketch; Masson, Rim, Lee, VLDB 2019)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GAMMA = 1.04


def bucket_of(value_us: NDArray[np.float64]) -> NDArray[np.int64]:
    """Bucket index of each value (µs): the smallest b with value <= GAMMA**b; values of 1 µs or less are 0."""
    clipped = np.maximum(value_us, 1.0)
    # The epsilon keeps exact powers of gamma in their own bucket despite rounding.
    return np.asarray(np.ceil(np.log(clipped) / np.log(GAMMA) - 1e-9), dtype=np.int64)


def value_of(bucket: NDArray[np.int64]) -> NDArray[np.float64]:
    """Representative value (µs) of each bucket, within 2 % of every value in it."""
    return np.asarray(2.0 * np.power(GAMMA, bucket.astype(np.float64)) / (GAMMA + 1.0))


def quantile_us(bucket: NDArray[np.int64], count: NDArray[np.int64], q: float) -> float:
    """The q-quantile (0..1) in µs of merged entries in any order; NaN where there are none."""
    total = int(count.sum())
    if total == 0:
        return float("nan")
    order = np.argsort(bucket, kind="stable")
    rank = q * (total - 1)
    position = int(np.searchsorted(np.cumsum(count[order]), rank, side="right"))
    return float(value_of(bucket[order][min(position, len(order) - 1) : position + 1])[0])
