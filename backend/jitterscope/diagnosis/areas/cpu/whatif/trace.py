"""A snapshot as input of a what-if: what ran and waited under which setting, or why that is unknown."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings.impact import slow_answers
from jitterscope.diagnosis.areas.cpu.readings.throttling import analyse
from jitterscope.diagnosis.areas.cpu.readings.warm_up import starting
from jitterscope.diagnosis.areas.cpu.whatif.types import GcCycle, Setting, Trace
from jitterscope.diagnosis.core.gc import GcProcess, is_go, read_gc
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import histogram
from jitterscope.diagnosis.core.signals import Cpu, number, own_limit, series
from jitterscope.diagnosis.core.snapshot import IntArray, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray
from jitterscope.diagnosis.programs import golang

# A shorter trace says nothing about events that recur every ten seconds.
ENOUGH_S = 2.0
# Anonymous memory relative to the peak heap: stacks, the runtime's own memory, fragmentation.
OTHER_MEMORY = 1.1


@reading
def from_snapshot(snapshot: Snapshot) -> Trace | str:
    """The trace of the subject (or of the ancestor whose quota applies); a sentence if its CPU was not recorded."""
    throttling = analyse(snapshot)
    cpu, served = throttling.cpu, throttling.served
    slow = slow_answers(snapshot, throttling)
    known_s = float(np.isfinite(cpu.usage_us).sum()) * snapshot.step_us / 1e6
    if known_s < ENOUGH_S:
        return (
            f"CPU use of this cgroup was recorded for {known_s:.1f} s of the window, and a replay needs {ENOUGH_S:g} s."
        )
    processes = read_gc(snapshot)
    gc = processes[0] if processes else None
    # If the busiest garbage collector is not Go's, a replay does not change its settings.
    view = next((one for one in snapshot.processes if is_go(one)), None) if gc is None else None
    if gc is not None and gc.runtime == "go":
        view = gc.view
    node_cpus = number(snapshot.node.fact("node.cpus"))
    live, measured = _live_heap(snapshot, view)
    # The cost of a start occurs once: those ticks count as missing.
    once = starting(snapshot)
    queries = [server.queries for server in served.servers if server.queries is not None]
    sent, latency, complete = _latencies(queries)
    return Trace(
        start_us=snapshot.start_us,
        step_us=snapshot.step_us,
        setting=_setting(cpu, view, own_limit(snapshot), node_cpus),
        usage_us=np.where(once, np.nan, cpu.usage_us),
        throttled_us=np.where(once, np.nan, cpu.throttled_us),
        periods=np.where(once, np.nan, cpu.periods),
        throttled_periods=np.where(once, np.nan, cpu.throttled),
        arrivals=served.requests,
        answers=served.answers,
        node_cpus=node_cpus if node_cpus is not None and node_cpus > 0 else math.inf,
        gc=_cycles(snapshot, gc, once),
        sent_us=sent,
        latency_us=latency,
        complete=complete,
        slow_threshold_us=int(slow.most_us),
        slow=slow.ticks if np.isfinite(slow.ticks).any() else None,
        latency_histogram=histogram(served.servers),
        noun=served.noun,
        is_go=view is not None,
        gc_stops=gc is not None and gc.stops_the_program,
        gc_exact=gc is not None and gc.exact,
        heap_live_bytes=live,
        heap_measured=measured,
    )


def _setting(cpu: Cpu, view: ResourceView | None, own: float, node_cpus: float | None) -> Setting:
    limit = cpu.limit if math.isfinite(cpu.limit) else None
    burst = int(cpu.burst_us or 0)
    if view is None:
        return Setting(limit, cpu.period_us, burst)
    percent = golang.gogc(view)
    return Setting(
        cpu_limit=limit,
        period_us=cpu.period_us,
        burst_us=burst,
        gomaxprocs=golang.maxprocs(view, own, node_cpus).value,
        gogc=None if percent is None else float(percent),
        gomemlimit_bytes=golang.memory_limit_bytes(view),
    )


def _cycles(snapshot: Snapshot, gc: GcProcess | None, once: BoolArray) -> tuple[GcCycle, ...]:
    if gc is None:
        return ()
    inside = gc.cycles.overlapping(snapshot.start_us, snapshot.end_us)
    goals = series(gc.view, "heap_goal_bytes", snapshot.ticks)
    lives = series(gc.view, "heap_live_bytes", snapshot.ticks)
    found = []
    for start_us, end_us in zip(inside.start_us.tolist(), inside.end_us.tolist(), strict=True):
        if once[min(max(0, (end_us - snapshot.start_us) // snapshot.step_us), snapshot.ticks - 1)]:
            continue
        # The page that reports a cycle is scraped up to a second after it.
        first = max(0, (end_us - snapshot.start_us) // snapshot.step_us)
        after = slice(first, first + 1_000_000 // snapshot.step_us + 1)
        live, goal = lives[after], goals[after]
        found.append(
            GcCycle(
                start_us,
                end_us,
                int(live[np.isfinite(live)][0]) if np.isfinite(live).any() else None,
                int(goal[np.isfinite(goal)][0]) if np.isfinite(goal).any() else None,
            )
        )
    return tuple(found)


def _live_heap(snapshot: Snapshot, view: ResourceView | None) -> tuple[float | None, bool]:
    """(bytes, whether measured). Estimated: at GOGC=100 the heap peaks at twice the live size."""
    if view is None:
        return None, False
    measured = golang.heap_live_bytes(view)
    if measured is not None:
        return measured, True
    memory, percent = snapshot.subject.series.get("memory_anon_bytes"), golang.gogc(view)
    if memory is None or not np.isfinite(memory).any() or percent is None or golang.memory_limit_bytes(view):
        return None, False
    return float(np.nanmax(memory)) / (OTHER_MEMORY * (1 + percent / 100)), False


def _latencies(
    queries: list[Queries],
) -> tuple[IntArray | None, IntArray | None, tuple[tuple[int, int], ...]]:
    """Answered queries in the order they were sent; spans are complete only if they are for every server."""
    if not queries:
        return None, None, ()
    answered = [one.result != TIMEOUT for one in queries]
    sent = np.concatenate([one.sent_us[kept] for one, kept in zip(queries, answered, strict=True)])
    latency = np.concatenate([one.latency_us[kept] for one, kept in zip(queries, answered, strict=True)])
    order = np.argsort(sent, kind="stable")
    complete = queries[0].complete if len(queries) == 1 else ()
    return sent[order], latency[order], complete
