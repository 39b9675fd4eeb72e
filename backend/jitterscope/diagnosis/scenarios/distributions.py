"""Histograms of observed values, as the collector sends them."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, IntArray

# More than there are buckets: sorting single numbers is ten times as fast as sorting pairs.
_BUCKETS = 1 << 16


def distribution_of(tick: IntArray, values_us: FloatArray | IntArray) -> Distribution:
    """`tick[i]` is the tick in which `values_us[i]` (µs) was observed."""
    keys, counts = np.unique(tick * _BUCKETS + bucket_of(values_us.astype(np.float64)), return_counts=True)
    ticks, buckets = np.divmod(keys, _BUCKETS)
    return Distribution(ticks, buckets, counts.astype(np.int64))
