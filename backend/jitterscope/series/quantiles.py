"""Quantiles of log-bucket histograms (ingest.proto DistributionBlock: gamma 1.04)."""

from __future__ import annotations

import numpy as np

from jitterscope.series.types import FloatArray, IntArray

GAMMA = 1.04
# Bucket numbers are below this (limits.MAX_BUCKET of ingest).
BUCKETS = 1025


def quantiles_us(counts: IntArray, wanted: tuple[float, ...], gamma: float = GAMMA) -> tuple[FloatArray, ...]:
    """For each wanted quantile (0..1), the value in µs of each row of (rows, buckets); NaN for an empty row.

    `gamma`: the ratio of neighboring buckets.
    """
    cumulative = np.cumsum(counts, axis=1)
    totals = cumulative[:, -1]
    results: list[FloatArray] = []
    for quantile in wanted:
        rank = quantile * (totals - 1)
        bucket = (cumulative <= rank[:, None]).sum(axis=1).astype(np.float64)
        values = 2.0 * np.power(gamma, bucket) / (gamma + 1.0)
        results.append(np.where(totals > 0, values, np.nan))
    return tuple(results)
