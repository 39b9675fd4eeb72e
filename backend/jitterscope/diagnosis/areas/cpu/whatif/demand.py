"""The CPU demand of a trace without its limit: queries as they arrived, GC cycles, and other bursts.

Throttled work is delayed, not lost: what a stall used beyond the cost of its queries is what its burst needed, and it
would have run from the start of the burst on as many CPUs as it can use (GOMAXPROCS, the node's CPUs). If nothing was
throttled, the recorded use is the demand, tick by tick. Cost of queries: areas/cpu/readings/demand.py.

Limits: a burst whose own throttling dropped requests looks smaller than it was; two bursts in one stall share its cost
by their length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings import demand as demands
from jitterscope.diagnosis.areas.cpu.readings import episodes
from jitterscope.diagnosis.areas.cpu.whatif.types import Setting, Trace
from jitterscope.diagnosis.core.signals import Cpu
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView
from jitterscope.diagnosis.core.stats import BoolArray, dilate, robust_baseline


@dataclass(frozen=True, slots=True)
class Burst:
    """CPU work besides the queries. Times in µs since the trace's start.

    `spread_us`: over how long it requested its CPU (0: at once, as parallel as possible). `throttled`: whether it was
    delayed.
    """

    start_us: float
    spread_us: float
    cost_us: float
    is_gc: bool
    throttled: bool


@dataclass(frozen=True, slots=True)
class Demand:
    """`base_us`: CPU that queries and other steady work need in each tick (n,), µs; no NaN.

    `quiet`: ticks without a burst and without throttling. `is_hidden`: it hardly ever ran without throttling.
    `fixed_us`: the part of a tick's cost that does not come from queries. `lost_us`: what queries without an answer
    would have needed in each tick besides, at most (n,). `saved_us`: how much more the queries of throttled ticks would
    cost without throttling, at most: a server that works off a queue wakes its threads less often. `replicates_us`:
    `base_us` of each replicate (R, n) if they differ.
    """

    base_us: FloatArray
    bursts: tuple[Burst, ...]
    quiet: BoolArray
    is_hidden: bool
    per_query_us: float
    fixed_us: float
    lost_us: FloatArray
    saved_us: FloatArray
    replicates_us: FloatArray | None = None


def cpus_of(trace: Trace, setting: Setting) -> float:
    """CPUs that the program can use at once; inf if neither GOMAXPROCS nor the node limits them."""
    procs = setting.gomaxprocs if setting.gomaxprocs is not None else math.inf
    # A bound far above anything recorded acts like none, and is finite.
    return float(min(procs, trace.node_cpus, 1024.0))


def decompose(trace: Trace) -> Demand:
    n, step = len(trace.usage_us), trace.step_us
    cpu = _cpu(trace)
    active = _gc_ticks(trace)
    throttled = np.nan_to_num(trace.throttled_periods) > 0
    ignore = np.zeros(n, dtype=np.bool_)
    stalls = episodes.find(cpu, ignore) if math.isfinite(cpu.limit) else []
    model = demands.measure(cpu, trace.arrivals, trace.answers, np.where(active, float(step), 0.0), stalls, ignore)
    load = np.where(np.isfinite(model.load_us), model.load_us, _fallback(trace))
    if model.is_hidden:
        # The cost of a query was measured while GC ran too, which is at most half of it.
        load = load * (1.0 - 0.5 * active)
    usage = np.where(np.isfinite(trace.usage_us), trace.usage_us, load)
    excess = usage - load
    hot = dilate(active, 0, 1)
    for stall in stalls:
        hot[stall.start : min(n, stall.end + 1)] = True
    hot |= dilate(throttled, cpu.lag, 1)
    hot |= _raised(excess, load, hot)
    bursts: list[Burst] = []
    base, lost, saved = usage.copy(), np.zeros(n), np.zeros(n)
    for first, last in _runs(hot):
        found = _bursts(trace, throttled, excess, first, last)
        bursts += found
        base[first:last] = load[first:last]
        left = float(usage[first:last].sum() - load[first:last].sum()) - sum(one.cost_us for one in found)
        if left < 0:
            # The queries of these ticks cost less than usual.
            total = float(base[first:last].sum())
            base[first:last] *= max(0.0, 1.0 + left / total) if total > 0 else 0.0
            lost[first:last] = _lost(trace, load, base, first, last)
            if throttled[first:last].any():
                saved[first:last] = np.maximum(load[first:last] - base[first:last] - lost[first:last], 0.0)
    base = np.maximum(base, 0.0)
    return Demand(base, tuple(bursts), ~hot, model.is_hidden, model.per_query_us, model.fixed_us, lost, saved)


def _lost(trace: Trace, load: FloatArray, base: FloatArray, first: int, last: int) -> FloatArray:
    """What queries of these ticks that got no answer would have cost; never more than all of them usually do."""
    asked, answered = float(np.nansum(trace.arrivals[first:last])), float(np.nansum(trace.answers[first:last]))
    used = base[first:last]
    if not 0 < answered < asked:
        return np.zeros(last - first)
    return np.maximum(np.minimum(load[first:last], used * asked / answered) - used, 0.0)


def _bursts(trace: Trace, throttled: BoolArray, excess: FloatArray, first: int, last: int) -> list[Burst]:
    """The bursts of one group of ticks [first, last)."""
    step = trace.step_us
    total = max(0.0, float(excess[first:last].sum()))
    stalled = bool(throttled[first:last].any())
    low, high = first * step, last * step
    inside = [
        (one.start_us - trace.start_us, one.end_us - trace.start_us)
        for one in trace.gc
        if one.end_us - trace.start_us > low and one.start_us - trace.start_us < high - step
    ]
    if not inside or not trace.gc_exact:
        used = np.flatnonzero(excess[first:last] > 0.25 * max(float(excess[first:last].max()), 1.0))
        begin = float((first + (int(used[0]) if len(used) else 0)) * step)
        long = float((int(used[-1] - used[0]) + 1 if len(used) else 1) * step)
        return [Burst(begin, 0.0 if stalled else long, total, bool(inside), stalled)] if total > 0 else []
    # Work is distributed by the CPU use in each cycle's own ticks.
    shares = []
    for start, end in inside:
        a, b = max(first, int(start // step)), min(last, int(end // step) + 2)
        shares.append(max(1.0, float(np.maximum(excess[a:b], 0.0).sum())))
    whole = sum(shares)
    return [
        Burst(
            float(max(start, 0)),
            0.0 if stalled else float(max(end - start, 1_000)),
            total * share / whole,
            True,
            stalled,
        )
        for (start, end), share in zip(inside, shares, strict=True)
    ]


def _raised(excess: FloatArray, load: FloatArray, hot: BoolArray) -> BoolArray:
    """Ticks that used much more than queries explain: other bursts."""
    around = robust_baseline(excess[~hot])
    if around.n < demands.ENOUGH_TICKS:
        return np.zeros(len(excess), dtype=np.bool_)
    return np.asarray(excess > around.median + np.maximum(6 * around.spread, load), dtype=np.bool_)


def _runs(mask: BoolArray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _gc_ticks(trace: Trace) -> BoolArray:
    n, step = len(trace.usage_us), trace.step_us
    active = np.zeros(n, dtype=np.bool_)
    for cycle in trace.gc:
        first, last = (cycle.start_us - trace.start_us) // step, (cycle.end_us - 1 - trace.start_us) // step
        active[max(0, first) : max(0, last + 1)] = True
    return active


def _fallback(trace: Trace) -> float:
    known = trace.usage_us[np.isfinite(trace.usage_us)]
    return float(np.median(known)) if len(known) else 0.0


def _cpu(trace: Trace) -> Cpu:
    n, setting = len(trace.usage_us), trace.setting
    limit = math.inf if setting.cpu_limit is None else setting.cpu_limit
    return Cpu(
        owner=ResourceView(0, "cgroup", "", ""),
        quota_us=np.full(n, limit * trace.step_us),
        period_us=setting.period_us,
        burst_us=float(setting.burst_us),
        usage_us=trace.usage_us,
        throttled=trace.throttled_periods,
        periods=trace.periods,
        throttled_us=trace.throttled_us,
        step_us=trace.step_us,
    )
