"""Fix: raise the CPU limit, by as much as the recorded demand needs."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.areas.cpu.fixes import gc_demand, predict
from jitterscope.diagnosis.areas.cpu.readings.throttling import Judged, Throttling
from jitterscope.diagnosis.areas.cpu.whatif import cfs
from jitterscope.diagnosis.core import namespace_limits, patches
from jitterscope.diagnosis.core.finding import Fix, FixSetting, Found, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import runtimes, workload_facts

MARGIN = 1.2
REFERENCES = [
    "https://docs.kernel.org/scheduler/sched-bwc.html",
    "https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/",
]


def for_gc(snapshot: Snapshot, throttling: Throttling, judged: list[Judged], found: Found) -> Fix | None:
    """A limit under which one whole cycle fits beside the requests: what the cycle can use at once is enough."""
    cpu, gc = throttling.cpu, throttling.gc
    if gc is None or not judged:
        return None
    node = number(snapshot.node.fact("node.cpus"))
    procs = runtimes.parallelism(gc.view, runtimes.limit_read(snapshot, gc.view), node).value
    ceiling = float(min(value for value in (procs, node, math.inf) if value is not None))
    load = np.nan_to_num(throttling.demand.load_us)
    base_us = float(load.max()) if len(load) else 0.0
    # All of the largest cycle in one period, on top of the requests; never more than may run at once.
    needed = (gc_demand.peak_us(throttling, judged) + base_us * cpu.period_us / cpu.step_us) / cpu.period_us
    limit = _round_up(min(ceiling, max(needed * 1.1, float(np.nanmax(cpu.usage_us)) / cpu.step_us)))
    if limit <= cpu.limit:
        return None
    why = (
        f"GC and {throttling.served.noun} together can use at most {limit:g} concurrent CPUs here."
        if limit >= ceiling
        else f"The largest cycle adds {gc_demand.peak_us(throttling, judged) / 1e6:.2f} s of CPU time. With this "
        "limit it fits into one period."
    )
    return _fix(snapshot, throttling, limit, why, "removes", node)


def for_load(snapshot: Snapshot, throttling: Throttling, judged: list[Judged], found: Found) -> Fix | None:
    """A limit with headroom over what the requests of the stalls needed."""
    cpu = throttling.cpu
    inside = np.zeros(len(cpu.usage_us), dtype=np.bool_)
    for item in judged:
        inside[item.episode.ticks] = True
    load = throttling.demand.load_us[inside & np.isfinite(throttling.demand.load_us)]
    if not len(load) or throttling.demand.is_hidden:
        return _unknown(snapshot, throttling)
    # Half a second of demand at a time: shorter peaks are carried by the margin.
    window = min(len(load), 5)
    smooth = np.convolve(load, np.ones(window) / window, mode="valid")
    node = number(snapshot.node.fact("node.cpus"))
    wanted = _round_up(max(MARGIN * float(smooth.max()) / cpu.step_us, cpu.limit * 1.1))
    limit = min(wanted, node or math.inf)
    if limit <= cpu.limit:
        return _whole_node(cpu.limit)
    replayed = cfs.replay(np.nan_to_num(throttling.demand.load_us), cpu.step_us, limit * cpu.period_us, cpu.period_us)
    rest = replayed.throttled_periods / max(1, throttling.throttled_periods)
    why = f"The {throttling.served.noun} of the stalls need up to {smooth.max() / cpu.step_us:.2f} CPU."
    verdict = "removes" if rest < 0.02 else "reduces"
    if limit < wanted:
        verdict, why = "reduces", f"{why} The node has only {limit:g} CPUs: also spread the load."
    else:
        why += f" This limit leaves {100 * (MARGIN - 1):.0f} % headroom."
    return _fix(snapshot, throttling, limit, why, verdict, node)


def _unknown(snapshot: Snapshot, throttling: Throttling) -> Fix:
    """Where throttling hides how much the work wants: nobody counts it, or it never ran without throttling."""
    counted = throttling.demand.is_hidden
    return _first_step(
        snapshot,
        throttling,
        "Throttling hides the demand: raise the limit and measure again.",
        f"Without throttling, a {throttling.served.one} can cost more CPU time than it does now."
        if counted
        else "A batch job uses up any limit: throttling it is intended.",
    )


def for_start(snapshot: Snapshot, throttling: Throttling) -> Fix:
    """What a starting program wants is not known either."""
    return _first_step(
        snapshot,
        throttling,
        "A starting program does the same work once, whatever the limit: with more CPU it is done sooner.",
        "The limit is needed only while the service starts. If it cannot rise, keep requests away until the service "
        "has warmed up: with a startup probe, or by requests that it sends to itself.",
    )


def _first_step(snapshot: Snapshot, throttling: Throttling, summary: str, caveat: str) -> Fix:
    """Up to twice the limit, as much as the node has, to try."""
    node = number(snapshot.node.fact("node.cpus"))
    limit = min(_round_up(2 * throttling.cpu.limit), node or math.inf)
    if limit <= throttling.cpu.limit:
        return _whole_node(throttling.cpu.limit)
    texts, undo = patches.cpu_limit(snapshot, throttling.cpu, limit)
    return Fix(
        id="raise_cpu_limit",
        title=f"Raise the CPU limit from {throttling.cpu.limit:g} to {limit:g} as a first step",
        summary=summary,
        verdict="unknown",
        setting=FixSetting(cpu_limit=limit),
        patches=texts,
        caveats=[caveat, *_refusals(snapshot, throttling, limit)],
        verify="CPU use stays below the new limit. " + patches.VERIFY,
        undo=undo,
        references=REFERENCES,
    )


def _whole_node(limit: float) -> Fix:
    """The limit is all that the node has."""
    return Fix(
        id="raise_cpu_limit",
        title="Raise the CPU limit",
        summary=f"Cannot help: the limit of {limit:g} CPU is all that the node has. Spread the load over more "
        "replicas, or use a node with more CPUs.",
        verdict="cannot_help",
        verify=patches.VERIFY,
        undo="Nothing to undo.",
        references=REFERENCES,
    )


def for_bursts(snapshot: Snapshot, throttling: Throttling, judged: list[Judged], found: Found) -> Fix | None:
    """A limit that holds the bursts that were seen (whatever made them)."""
    cpu = throttling.cpu
    needed = [item.used_us / max(1, item.episode.length) / cpu.step_us for item in judged]
    node = number(snapshot.node.fact("node.cpus"))
    # A throttled burst shows only what it was allowed: all of it in its first period is the most it can want.
    beyond = max((item.gc_us + item.other_us) / cpu.period_us for item in judged)
    limit = _round_up(min(node or math.inf, max(*needed, cpu.limit) + beyond))
    if limit <= cpu.limit:
        return None
    why = (
        f"The largest burst takes {beyond * cpu.period_us / 1e6:.2f} s of CPU time besides the "
        f"{throttling.served.noun}."
    )
    return _fix(snapshot, throttling, limit, why, "removes", node)


def _round_up(limit: float) -> float:
    return math.ceil(round(limit * 10, 6)) / 10


def _fix(
    snapshot: Snapshot,
    throttling: Throttling,
    limit: float,
    why: str,
    verdict: str,
    node: float | None,
) -> Fix:
    cpu = throttling.cpu
    texts, undo = patches.cpu_limit(snapshot, cpu, limit)
    caveats = [
        f"The limit is predicted for the load of this window: a larger heap or more {throttling.served.noun} need more."
    ]
    if node is not None and limit > 0.8 * node:
        caveats.append(f"The node has {node:g} CPUs: check that others on it can spare {limit - cpu.limit:g} more.")
    caveats += _refusals(snapshot, throttling, limit)
    if patches.manager(snapshot) == "kubernetes":
        caveats += [patches.in_place(snapshot), _caps(snapshot)]
        if throttling.gc is not None and throttling.gc.view.fact("go.automaxprocs"):
            caveats.append(
                "automaxprocs reads the limit once at start: after an in-place change GOMAXPROCS stays the same."
            )
    setting = FixSetting(cpu_limit=limit)
    said = predict.replayed(snapshot, setting)
    return Fix(
        id="raise_cpu_limit",
        title=f"Raise the CPU limit from {cpu.limit:g} to {limit:g}",
        summary=why,
        verdict="removes" if verdict == "removes" else "reduces",
        predicted=predictions(slow_ratio=said.slow_ratio, throttled_ratio=said.throttled_ratio),
        setting=setting,
        patches=texts,
        caveats=caveats,
        verify=patches.VERIFY,
        undo=undo,
        references=REFERENCES,
    )


def _refusals(snapshot: Snapshot, throttling: Throttling, limit: float) -> list[str]:
    """Only the container's own limit is set through the API server."""
    cpu = throttling.cpu
    is_own = cpu.owner.id == snapshot.subject.id
    return namespace_limits.raised_cpus(snapshot, cpu.limit, limit) if is_own else []


def _caps(snapshot: Snapshot) -> str:
    unknown = namespace_limits.unknown(snapshot)
    also = f", or {' or '.join(unknown)} caps it," if unknown else ","
    return f"If the pod has a limit of its own{also} raise that too."


def _raised(before: Facts, after: Facts) -> bool:
    """More CPUs than before, or no limit any more."""
    old, new = workload_facts.cpu_limit(before), workload_facts.cpu_limit(after)
    return old is not None and new is not None and new > old


FIXES = (
    FixKind(
        id="raise_cpu_limit",
        title="Raise the CPU limit",
        precondition="A CPU limit that is lower than what the demand needs.",
        landing=Seen(
            "The CPU quota per period of the container rises, or the limit is removed.",
            # A JVM that starts anew under another limit sees other CPUs, and may choose another collector.
            ("cpu.quota_us", "memory.limit_bytes", "runtime.cpus", "runtime.gc_kind"),
            _raised,
        ),
        lab="coredns-gc --apply raise_cpu_limit",
    ),
)
