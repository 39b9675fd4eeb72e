"""How many answers can have taken long, from two series alone: signs of what single queries and histograms tell."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot

SIGNS = ("dns_queries", "dns_slow", "dns_latency_max_us")
# A histogram's bucket may stand for a time that is so much longer than the slowest answer in it.
_ROUNDING = 0.95


def answers_over(snapshot: Snapshot, server: ResourceView, least_us: float) -> float:
    """At most so many answers took `least_us` (over 20 ms) or more: those over 20 ms of each tick whose slowest did.

    Any number may have where queries were captured and nobody counted those over 20 ms.
    """
    if has(server, "dns_queries") and not has(server, "dns_slow"):
        return math.inf
    slow = np.nan_to_num(series(server, "dns_slow", snapshot.ticks))
    slowest = series(server, "dns_latency_max_us", snapshot.ticks)
    return float(slow[~(slowest < _ROUNDING * least_us)].sum())
