"""An upper bound on slow answers from two series alone: signs of what single queries and histograms show."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

SIGNS = ("dns_queries", "dns_slow", "dns_latency_max_us")
# The slowest answer can be lower than the value of its histogram bucket, down to this ratio.
_ROUNDING = 0.95


def answers_over(snapshot: Snapshot, server: ResourceView, least_us: float) -> float:
    """Upper bound on the number of answers that took `least_us` (over 20 ms) or more.

    It counts those over 20 ms of each tick whose slowest did; inf if queries were captured but those over 20 ms were
    not counted.
    """
    if has(server, "dns_queries") and not has(server, "dns_slow"):
        return math.inf
    slow = np.nan_to_num(series(server, "dns_slow", snapshot.ticks))
    slowest = series(server, "dns_latency_max_us", snapshot.ticks)
    return float(slow[~(slowest < _ROUNDING * least_us)].sum())
