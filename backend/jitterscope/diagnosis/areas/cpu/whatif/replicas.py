"""One of several replicas that share the recorded load: fewer queries for each, at the same cost and the same limit.

A Service sends each connection or UDP flow to a random replica, so a replica gets a random part of the queries of each
tick (binomial). What does not come from queries (the fixed cost of a tick, bursts of other work) stays in each replica.
The heap grows with the queries, so GC cycles are as much rarer, and each costs as much as before: every replica keeps
the whole live heap.

Limits: queries of one flow stay together, so few clients spread less evenly; a query is taken to cost as much at a
lower rate, though more of them wake a thread then: with a CoreDNS, 165, 192, and 234 µs at 1,000, 500, and 250/s.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy

from jitterscope.diagnosis.areas.cpu.whatif.demand import Demand
from jitterscope.diagnosis.areas.cpu.whatif.layout import REPLICATES
from jitterscope.diagnosis.areas.cpu.whatif.types import Trace
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray

_SEED = 20_261_128
# From so many queries on, the normal distribution is as good as the binomial one.
_MANY = 1_000
# Go collects at least every two minutes (runtime/proc.go, forcegcperiod).
_FORCED_GC_S = 120.0
# Error of the number of GC cycles at another rate of queries (σ of the logarithm), and the most that is assumed.
_GC_SPREAD, _MOST_SPREAD = 0.1, 0.5
_Z90 = 1.645  # of the normal distribution: the central 90 %


def one_of(trace: Trace, demand: Demand, replicas: float) -> tuple[Trace, Demand]:
    """What one of `replicas` gets, for each that ran; `demand.replicates_us` has other possible parts."""
    if replicas == 1.0:
        return trace, demand
    arrivals = np.nan_to_num(trace.arrivals)
    asked = demand.per_query_us * arrivals
    known = demand.fixed_us + asked
    by_queries = np.divide(asked, known, out=np.zeros(len(asked)), where=known > 0)
    parts = _parts(np.rint(arrivals).astype(np.int64), 1.0 / replicas)
    # A replica with room for them answers the queries that were lost, too. What those of throttled ticks cost without
    # throttling is anything from what they did to the usual.
    saved = (np.arange(REPLICATES) + 0.5) / REPLICATES
    all_us = demand.base_us + demand.lost_us + saved[:, np.newaxis] * demand.saved_us
    rows = all_us * (1.0 - by_queries * (1.0 - parts))
    mean = all_us.mean(axis=0) * (1.0 - by_queries * (1.0 - 1.0 / replicas))
    slow = None if trace.slow is None else trace.slow / replicas
    return (
        replace(trace, arrivals=trace.arrivals / replicas, slow=slow),
        replace(demand, base_us=mean, replicates_us=rows),
    )


def cycles_ratio(trace: Trace, was: Demand, demand: Demand, replicas: float) -> tuple[float, float]:
    """GC cycles of the replica relative to those recorded, and the lognormal spread of that.

    Queries allocate. What else runs might, too: the spread reaches to the replica's part of the steady CPU time.
    """
    before, cycles = float(was.base_us.sum() + was.lost_us.sum()), len(trace.gc)
    if replicas == 1.0 or before <= 0 or not cycles:
        return 1.0, 0.0
    lost = 1.0 + float(was.lost_us.sum()) / max(1.0, float(was.base_us.sum()))
    forced = trace.seconds / _FORCED_GC_S / cycles if trace.is_go else 0.0
    more = math.log(max(1.0, float(demand.base_us.sum()) / before * replicas))
    return min(1.0, max(lost / replicas, forced)), min(_MOST_SPREAD, math.hypot(_GC_SPREAD, more / _Z90))


def _parts(queries: IntArray, chance: float) -> FloatArray:
    """Part of the queries (n,) that the replica gets in each replicate (R, n).

    The same draws serve every `chance`: a smaller one never gives more.
    """
    drawn = np.random.default_rng(_SEED).random((REPLICATES, len(queries)))
    got = np.zeros(drawn.shape)
    for count in np.unique(queries[queries > 0]).tolist():
        at = queries == count
        if count > _MANY:
            spread = np.sqrt(count * chance * (1.0 - chance))
            got[:, at] = np.clip(np.rint(count * chance + spread * scipy.special.ndtri(drawn[:, at])), 0, count)
        else:
            upto = scipy.special.bdtr(np.arange(count), count, chance)
            got[:, at] = np.searchsorted(upto, drawn[:, at])
    parts = np.full(drawn.shape, chance)
    np.divide(got, queries, out=parts, where=queries > 0)
    return parts
