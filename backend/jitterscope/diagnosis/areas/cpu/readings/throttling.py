"""Judges every stretch of throttling by mechanism: which CPU demand exceeded the quota.

Shared by the causes in cpu/causes, so that each throttled period belongs to one of them and they rule each other out by
the same numbers. Work is conserved: what a stall used beyond the cost of its requests (of a DNS server its queries) is
what caused it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings import demand as demands
from jitterscope.diagnosis.areas.cpu.readings import episodes as episode_finder
from jitterscope.diagnosis.areas.cpu.readings.demand import Demand
from jitterscope.diagnosis.areas.cpu.readings.episodes import Episode
from jitterscope.diagnosis.areas.cpu.readings.gc_cost import GcCost, gc_cost
from jitterscope.diagnosis.areas.cpu.readings.warm_up import WarmUp, starting, warming_up
from jitterscope.diagnosis.areas.cpu.whatif import cfs
from jitterscope.diagnosis.core.gc import GcProcess, read_gc
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import Served, read_served
from jitterscope.diagnosis.core.signals import Cpu, has, number, read_cpu, series, serving
from jitterscope.diagnosis.core.signs import Signs, shows
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.programs import runtimes
from jitterscope.diagnosis.programs.golang import at_memory_limit

# start: the server's own work, and neither requests nor GC, before it has been calm for the first time.
# jit: its JIT compiler, later on.
Mechanism = Literal["gc", "spiral", "requests", "load", "start", "jit", "other", "unclear"]

LONG_S = 3.0  # a stall this long is judged before it ends
_MOST = 0.5  # of the extra CPU time
LEVEL_S = 10.0  # uncounted work at the limit for this long is a load level
BURST_S = 3.0  # arrivals raised for longer are a load level, not a burst
RISE = 1.5  # arrivals this much above the recent level are raised
EXPLAINS = 0.5  # a demand that alone causes at least half of the throttled periods explains them


@dataclass(frozen=True, slots=True)
class Judged:
    """One episode and its cause.

    CPU in µs: `used_us` in total, `queries_us` the cost of its queries, `gc_us` GC beyond that, `other_us` the rest.
    `by_queries` is the share of its throttled periods that the queries alone cause when replayed through the quota.
    """

    episode: Episode
    mechanism: Mechanism
    used_us: float
    queries_us: float
    gc_us: float
    other_us: float
    by_queries: float
    rate_ratio: float
    raised_s: float
    gc_ticks: int
    hot_ticks: int
    gc_share_of_time: float


@dataclass(frozen=True, slots=True)
class Throttling:
    """Everything that the CPU causes share about one snapshot."""

    cpu: Cpu
    served: Served
    gc: GcProcess | None
    gc_known: BoolArray
    gc_active: BoolArray
    demand: Demand
    judged: tuple[Judged, ...]
    starting: BoolArray
    warm_up: WarmUp
    process_cpu_us: dict[int, FloatArray]
    # Processes that serve, or can, whose runtime collects garbage unobserved.
    unobserved: tuple[ResourceView, ...]

    def of(self, *mechanisms: Mechanism) -> list[Judged]:
        return [judged for judged in self.judged if judged.mechanism in mechanisms]

    @property
    def throttled_periods(self) -> int:
        return sum(judged.episode.throttled_periods for judged in self.judged)

    @property
    def base_load_ratio(self) -> float:
        """CPU that the queries need on average relative to the limit; NaN if unknown."""
        known = np.isfinite(self.demand.load_us) & np.isfinite(self.cpu.quota_us)
        if not known.any():
            return float("nan")
        return float(self.demand.load_us[known].mean() / self.cpu.quota_us[known].mean())


def _throttled(snapshot: Snapshot) -> bool:
    return shows((snapshot.subject, *snapshot.ancestors), "cpu_throttled_periods")


SIGNS = Signs(("cpu_throttled_periods",), _throttled)


@reading
def analyse(snapshot: Snapshot) -> Throttling:
    """Every stretch of throttling of the snapshot, judged."""
    cpu, served = read_cpu(snapshot), read_served(snapshot)
    processes = read_gc(snapshot)
    gc = processes[0] if processes else None
    active_us = gc.active_us if gc else np.full(snapshot.ticks, np.nan)
    loading = starting(snapshot)
    found = episode_finder.find(cpu, loading) if np.isfinite(cpu.limit) else []
    demand = demands.measure(cpu, served.requests, served.answers, active_us, found, loading)
    process_cpu = {
        view.id: series(view, "process_cpu_us", snapshot.ticks)
        for view in snapshot.processes
        if has(view, "process_cpu_us")
    }
    cost = None
    if gc is not None:
        node_cpus, limit = number(snapshot.node.fact("node.cpus")), runtimes.limit_read(snapshot, gc.view)
        procs = runtimes.parallelism(gc.view, limit, node_cpus).value
        cost = gc_cost(snapshot, gc, cpu, procs, process_cpu.get(gc.view.id), demand, loading)
    limited = gc is not None and gc.runtime == "go" and at_memory_limit(snapshot.subject, gc.view)
    others = [used for view_id, used in process_cpu.items() if gc is not None and view_id != gc.view.id]
    warm_up = warming_up(snapshot)
    servers = serving(snapshot)
    own = [used for view_id, used in process_cpu.items() if view_id in servers]
    compiling = [series(view, "jit_cpu_us", snapshot.ticks) for view in snapshot.processes if has(view, "jit_cpu_us")]
    judged = tuple(
        _of_jit(_of_start(_judge(episode, cpu, served, demand, cost, limited, others), warm_up, demand, own), compiling)
        for episode in found
    )
    active = np.nan_to_num(active_us) > 0
    unobserved = runtimes.unobserved(snapshot)
    return Throttling(
        cpu, served, gc, np.isfinite(active_us), active, demand, judged, loading, warm_up, process_cpu, unobserved
    )


def _of_start(judged: Judged, warm_up: WarmUp, demand: Demand, own: list[FloatArray]) -> Judged:
    """Work of a server that has just started is neither a job beside it nor unclear.

    `own`: CPU time of the processes that serve. If little of the extra CPU time is theirs, something else took it.
    """
    if judged.mechanism not in ("other", "unclear") or not warm_up.ticks[judged.episode.first]:
        return judged
    if own and sum(_rise_us(used, judged.episode, demand) for used in own) < _MOST * judged.other_us:
        return judged
    return replace(judged, mechanism="start")


def _of_jit(judged: Judged, compiling: list[FloatArray]) -> Judged:
    """Compiling code that is called often is neither a job beside the server nor unclear."""
    compiled = sum(float(np.nansum(used[judged.episode.ticks])) for used in compiling)
    if judged.mechanism not in ("other", "unclear") or compiled < _MOST * max(1.0, judged.other_us):
        return judged
    return replace(judged, mechanism="jit")


def _judge(
    episode: Episode,
    cpu: Cpu,
    served: Served,
    demand: Demand,
    cost: GcCost | None,
    memory_limited: bool,
    others: list[FloatArray],
) -> Judged:
    quota = cpu.quota_us[episode.ticks]
    used = float(np.nansum(cpu.usage_us[episode.ticks]))
    load = np.nan_to_num(demand.load_us[episode.ticks], nan=0.0)
    seconds = episode.length * cpu.step_us / 1e6
    # Work that could not run before (the node gave no CPU) is done now; it still belongs to the queries.
    late_us = _held_back(episode, cpu, demand)
    load[:1] += late_us
    queries_us = min(used, float(load.sum()))
    beyond = max(0.0, used - queries_us)
    gc_limit = cost.most_us(episode) if cost else 0.0
    certain = min(used, cost.least_us(episode)) if cost else 0.0
    if demand.is_hidden:
        # The cost of a query was measured inside the stall: subtract the possible GC share, at most half unless more is
        # certain.
        gc_us = max(min(gc_limit, 0.5 * used), certain)
        queries_us, beyond = used - gc_us, gc_us
        load *= 1 - certain / max(1.0, used)
    # Increased use by other processes was not GC, however long its cycle took meanwhile.
    by_others = sum(_rise_us(used_us, episode, demand) for used_us in others)
    gc_us = min(beyond, max(gc_limit, certain), max(0.0, beyond - by_others))
    other_us = beyond - gc_us
    replayed = cfs.replay(load, cpu.step_us, cpu.period_quota_us, cpu.period_us, cpu.burst_us or 0.0)
    by_queries = min(1.0, replayed.throttled_periods / max(1, episode.throttled_periods))
    rate_ratio, raised_s, still_raised = _arrivals(episode, cpu, served, demand)
    hot = np.flatnonzero(np.nan_to_num(cpu.throttled[episode.ticks]) > 0) + episode.start
    in_gc = cost.near[hot] if cost else np.zeros(len(hot), dtype=np.bool_)
    gc_time = cost.share_of_time(episode) if cost else 0.0
    mechanism = _mechanism(
        seconds=seconds,
        closed=episode.closed,
        cut=episode.cut,
        quota_us=float(quota.mean()),
        used_us=used,
        length=episode.length,
        gc_us=gc_us,
        other_us=other_us,
        period_quota_us=cpu.period_quota_us,
        by_queries=by_queries,
        raised=rate_ratio >= RISE,
        raised_s=raised_s,
        still_raised=still_raised,
        measured=demand.measured,
        gc_time=gc_time,
        spiral=memory_limited and cost is not None and not cost.rests(episode),
        gc_known=cost is None or episode.observed(cost.known),
        mostly_gc=certain >= EXPLAINS * used > 0,
        busy_load=float(np.nanmean(load)) >= 0.85 * float(quota.mean()),
    )
    return Judged(
        episode, mechanism, used, queries_us, gc_us, other_us, by_queries, rate_ratio, raised_s,
        int(in_gc.sum()), len(hot), gc_time,
    )  # fmt: skip


def _mechanism(
    *,
    seconds: float,
    closed: bool,
    cut: bool,
    quota_us: float,
    used_us: float,
    length: int,
    gc_us: float,
    other_us: float,
    period_quota_us: float,
    by_queries: float,
    raised: bool,
    raised_s: float,
    still_raised: bool,
    measured: str,
    gc_time: float,
    spiral: bool,
    gc_known: bool,
    mostly_gc: bool,
    busy_load: bool,
) -> Mechanism:
    long = seconds >= LONG_S
    if spiral:
        return "spiral"
    if by_queries >= EXPLAINS or (long and busy_load) or (measured == "stall" and long and not mostly_gc):
        # The queries alone need more than the quota: for a while, or as a level?
        if raised and raised_s <= BURST_S:
            return "requests" if closed and not still_raised else "unclear"
        if long or busy_load:
            return "load" if used_us >= 0.7 * quota_us * length else "unclear"
        return "unclear"
    if measured in ("none", "usage") and seconds >= LEVEL_S and gc_time < 0.6 and used_us >= 0.85 * quota_us * length:
        # The work is not counted, but what uses its whole limit for this long is no burst.
        return "load"
    if measured in ("none", "stall"):
        return "gc" if mostly_gc else "unclear"
    lacked = max(gc_us, other_us)
    if lacked < 0.25 * period_quota_us:
        return "load" if busy_load else "unclear"
    if gc_us >= other_us:
        return "gc"
    # "Something else" is a claim about absence: only if the whole stall was seen, and GC was observed during it.
    return "other" if closed and not cut and gc_known else "unclear"


def _rise_us(used_us: FloatArray, episode: Episode, demand: Demand) -> float:
    """CPU (µs) of a process in the episode beyond its use in quiet times."""
    quiet = used_us[demand.quiet & np.isfinite(used_us)]
    usual = float(np.median(quiet)) if len(quiet) else 0.0
    return max(0.0, float(np.nansum(used_us[episode.ticks])) - usual * episode.length)


def _held_back(episode: Episode, cpu: Cpu, demand: Demand) -> float:
    """CPU (µs) that the queries just before a stall needed and did not get."""
    missing = 0.0
    for tick in range(episode.start - 1, max(-1, episode.start - 21), -1):
        used, load = cpu.usage_us[tick], demand.load_us[tick]
        if not (np.isfinite(used) and np.isfinite(load)) or used >= 0.7 * load:
            break
        missing += load - used
    return missing


def _arrivals(episode: Episode, cpu: Cpu, served: Served, demand: Demand) -> tuple[float, float, bool]:
    """(arrivals at the onset relative to the recent level, seconds they stayed raised, still raised at the end)."""
    queries = served.requests
    earlier = np.flatnonzero(demand.quiet[: episode.start] & np.isfinite(queries[: episode.start]))[-20:]
    level = float(np.median(queries[earlier])) if len(earlier) >= demands.ENOUGH_TICKS else demand.base_queries
    until = min(len(queries), episode.end + 2)
    around = queries[episode.start : until]
    if not np.isfinite(level) or not np.isfinite(around).any():
        return float("nan"), 0.0, False
    # Random arrivals vary by the square root of their number.
    bar = max(RISE * level, level + 4 * np.sqrt(max(level, 1.0)))
    raised = np.nan_to_num(around) > bar
    onset = queries[max(0, episode.start - cpu.lag) : episode.first + 1]
    peak = float(np.nanmax(onset)) if np.isfinite(onset).any() else float("nan")
    ratio = peak / max(level, 1.0) if peak > bar else min(peak / max(level, 1.0), 1.0 if level >= 1 else peak)
    before = 0
    while episode.start - before - 1 >= 0 and queries[episode.start - before - 1] > bar:
        before += 1
    seconds = (int(raised.sum()) + before) * cpu.step_us / 1e6
    return ratio, seconds, bool(raised[-2:].any())


def hot_mask(throttling: Throttling) -> BoolArray:
    """Ticks in which throttled periods ended, outside startup."""
    return (np.nan_to_num(throttling.cpu.throttled) > 0) & ~throttling.starting


def span_mask(throttling: Throttling, judged: list[Judged]) -> BoolArray:
    """Ticks in which the cgroup was stalled in these episodes, including one period around them."""
    mask = np.zeros(len(throttling.cpu.usage_us), dtype=np.bool_)
    for item in judged:
        mask[item.episode.start : item.episode.end] = True
    return dilate(mask, 0, 1)
