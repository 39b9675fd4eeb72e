"""A program's garbage collector uses up the CPU quota (case 1)."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.causes import _report as report
from jitterscope.diagnosis.areas.cpu.fixes import (
    cfs_burst,
    cpu_limit,
    gogc_off,
    gomaxprocs,
    gomemlimit,
    other_runtimes,
    udp_sockets,
)
from jitterscope.diagnosis.areas.cpu.readings.throttling import SIGNS, Judged, analyse
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.gc import GcProcess
from jitterscope.diagnosis.core.signals import has, number
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import dose_response
from jitterscope.diagnosis.programs import runtimes
from jitterscope.diagnosis.programs.golang import at_memory_limit

ID = "cpu/gc_throttling"
NEEDS = ("cpu_usage_us", "cpu_throttled_periods", "gc_active_us")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    context = report.prepare(ID, NEEDS, snapshot)
    if not isinstance(context, report.Context):
        return context
    throttling = context.throttling
    assert throttling.gc is not None, "needed"
    judged = throttling.of("gc")
    periods, of = report.periods_of(judged), throttling.throttled_periods
    hurt = report.harm_of(context, judged)
    together = report.gc_evidence(context, judged) if judged else None
    if not judged or together is None or periods < 0.2 * of or not _enough(context, judged, hurt.slow_inside):
        # That the GC which was observed is not it says nothing about one that was not.
        if throttling.unobserved:
            return runtimes.gc_not_observed(ID, snapshot)
        return _not_found(context, periods, of)
    cost = sum(item.gc_us for item in judged) / len(judged)
    share = sum(item.gc_us for item in judged) / max(1.0, sum(item.gc_us + item.other_us for item in judged))
    wait = report.consequence(context, judged, hurt)
    weak = {
        "metrics": "GC times come from /metrics, not from the runtime itself",
        "threads": "GC times are estimated from thread CPU time",
    }
    doubt = weak.get(throttling.gc.source)
    return report.build(
        context,
        judged,
        hurt,
        confidence=_confidence(context, judged, share, together.numbers["p_value"]),
        title=f"{_owner(snapshot, throttling.gc)} uses up the CPU limit, {wait}",
        summary=" ".join(
            part
            for part in (
                report.harm_sentence(context, hurt),
                report.cpu_sentence(context),
                f"One GC cycle adds {say.seconds(cost)} of CPU time, and a period of "
                f"{say.ms(throttling.cpu.period_us)} allows {say.ms(throttling.cpu.period_quota_us)}. Without GC, "
                f"{report.work(context)} would not have been throttled.",
                f"{doubt}, so this is less certain." if doubt else "",
            )
            if part
        ),
        evidence=_evidence(context, judged, together, share)
        + report.slow_evidence(context, judged, hurt)
        + [report.usage_evidence(context, judged)]
        + report.queue_evidence(context, judged),
    )


def _owner(snapshot: Snapshot, gc: GcProcess) -> str:
    """ "CoreDNS's garbage collector", "The garbage collector of the JVM in cart"."""
    name, program = say.who(snapshot), say.program(gc.view) or "the program"
    what = program if gc.runtime in ("go", "") else runtimes.name_of(gc.view) or program
    if name != program:
        return f"The garbage collector of {what} in {name}"
    return f"{what[:1].upper()}{what[1:]}'s garbage collector" if what != program else f"{name}'s garbage collector"


def _enough(context: report.Context, judged: list[Judged], slow: int) -> bool:
    """More than one noisy tick: a stall of three periods, two stalls, or one period in which many answers waited."""
    periods, quota = report.periods_of(judged), context.throttling.cpu.period_quota_us
    return periods >= 3 or len(judged) >= 2 or (slow >= 10 and max(item.gc_us for item in judged) >= 0.5 * quota)


def _not_found(context: report.Context, periods: int, of: int) -> NotFound:
    items = context.throttling.judged
    gc = sum(item.gc_us for item in items)
    used = sum(item.used_us for item in items)
    explained = sum(item.by_queries * item.episode.throttled_periods for item in items)
    numbers = {
        "throttled_periods": float(of),
        "by_gc": float(periods),
        "gc_cpu_ratio": gc / used if used else 0.0,
        "by_queries": explained,
    }
    if explained >= 0.5 * of:
        reason = (
            f"{explained:,.0f} of {of} throttled periods would occur without GC too: {report.work(context)} alone "
            "explains them."
        )
    else:
        reason = (
            f"GC used at most {say.percent(numbers['gc_cpu_ratio'])} of the CPU time of the stalls, and {periods} of "
            f"{of} throttled periods are due to it."
        )
    return NotFound(cause=ID, reason=reason, numbers=numbers)


def _confidence(context: report.Context, judged: list[Judged], share: float, p: float) -> Confidence:
    gc = context.throttling.gc
    if gc is None or gc.source in ("threads", "unknown"):
        return "low"
    periods = report.periods_of(judged)
    dominant = periods >= 0.6 * context.throttling.throttled_periods and share >= 0.6
    if gc.sure and dominant and p <= 0.1 and (len(judged) >= 2 or periods >= 4):
        return "high"
    return "medium" if dominant else "low"


def _evidence(context: report.Context, judged: list[Judged], together: Evidence, share: float) -> list[Evidence]:
    snapshot, throttling = context.snapshot, context.throttling
    cpu, gc = throttling.cpu, throttling.gc
    assert gc is not None
    costs = np.array([item.gc_us for item in judged])
    mean = float(costs.mean())
    replayed = sum(item.by_queries * item.episode.throttled_periods for item in judged)
    periods = report.periods_of(judged)
    measured = has(gc.view, "gc_cpu_us")
    found = [
        together,
        Evidence(
            id="cycle_cpu",
            statement="CPU time added by a GC cycle / quota of one period",
            value=f"{say.seconds(mean)} / {say.seconds(cpu.period_quota_us)}",
            comparison=f"{say.percent(share)} of the CPU time that the {throttling.served.noun} do not explain "
            + ("was used by GC threads" if measured else "fell into GC cycles"),
            numbers={
                "cycle_cpu_us": mean,
                "cycle_cpu_max_us": float(costs.max()),
                "period_quota_us": cpu.period_quota_us,
                "cycles_stalled": float(len(judged)),
                "explained_ratio": share,
            },
            series=report.refs(
                context,
                judged,
                (cpu.owner.id, "cpu_usage_us"),
                (gc.view.id, "gc_cpu_us" if measured else "gc_active_us"),
            ),
        ),
        Evidence(
            id="without_gc",
            statement=f"Throttled periods when {report.work(context)} is replayed through the limit without GC",
            value=f"{replayed:,.0f} of {periods}",
            comparison=f"needs {say.percent(throttling.base_load_ratio)} of the limit",
            numbers={"throttled_periods": replayed, "of": float(periods), "load_ratio": throttling.base_load_ratio},
            series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods")),
        ),
    ]
    leads = _leads_us(context, judged)
    if len(leads):
        found.append(
            Evidence(
                id="gc_first",
                statement="Stalls that began after a GC cycle had begun",
                value=f"{int((leads > 0).sum())} of {len(leads)}",
                comparison=f"median: {say.ms(float(np.median(leads)))} before the period ended throttled",
                numbers={
                    "after_gc": float((leads > 0).sum()),
                    "of": float(len(leads)),
                    "median_lead_us": float(np.median(leads)),
                },
                series=report.refs(context, judged, (gc.view.id, "gc_active_us")),
            )
        )
    dose = dose_response(costs, np.array([float(item.episode.throttled_periods) for item in judged]))
    if dose.n >= 4:
        found.append(
            Evidence(
                id="dose_response",
                statement="Correlation of CPU per cycle with throttled periods (Spearman)",
                value=f"ρ {dose.rho:.2f}",
                comparison=f"{dose.n} cycles, p = {say.probability(dose.p)}",
                numbers={"rho": dose.rho, "n": float(dose.n), "p_value": dose.p},
                series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods")),
            )
        )
    node_cpus, limit = number(snapshot.node.fact("node.cpus")), runtimes.limit_read(snapshot, gc.view)
    procs = runtimes.parallelism(gc.view, limit, node_cpus)
    if procs.value is not None:
        found.append(
            Evidence(
                id="parallelism",
                statement=f"Concurrent CPUs allowed for GC ({procs.what}) / limit",
                value=f"{procs.value} / {cpu.limit:g}",
                comparison=procs.why,
                numbers={"gc_cpus": float(procs.value), "cpu_limit": cpu.limit},
                series=report.refs(context, judged, (cpu.owner.id, "cpu_usage_us")),
            )
        )
    return found


def _leads_us(context: report.Context, judged: list[Judged]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """For each stall, how long before the end of its first throttled tick the cycle in it began."""
    snapshot, gc = context.snapshot, context.throttling.gc
    leads = []
    for item in judged:
        low = snapshot.start_us + item.episode.start * snapshot.step_us
        first_end = snapshot.start_us + (item.episode.first + 1) * snapshot.step_us
        high = snapshot.start_us + item.episode.end * snapshot.step_us
        cycles = gc.cycles.overlapping(low, high) if gc else None
        if cycles:
            leads.append(float(first_end - int(cycles.start_us.min())))
    return np.array(leads)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    throttling = analyse(snapshot)
    if throttling.gc is None:
        return []
    judged = throttling.of("gc")
    at_limit = throttling.gc.runtime == "go" and at_memory_limit(snapshot.subject, throttling.gc.view)
    proposals = [
        # Where GOMEMLIMIT starts the cycles, a higher one makes them rarer.
        *(gomemlimit.propose(snapshot, throttling, found, patches.VERIFY)[:1] if at_limit else []),
        cpu_limit.for_gc(snapshot, throttling, judged, found),
        gogc_off.fewer_cycles(snapshot, throttling, found),
        gomaxprocs.propose(snapshot, throttling, found),
        *other_runtimes.propose(snapshot, throttling),
        cfs_burst.for_gc(snapshot, throttling, judged, found),
        udp_sockets.propose(snapshot, throttling, found),
    ]
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="GC cycles use up the CPU limit",
    summary="A program's GC cycle needs more CPU time than its limit allows in a period, so the kernel stops the "
    "whole program, requests included, until the next period, several times in a row.",
    mechanism="While a cycle marks the heap, the runtime runs on several CPUs at once: Go on up to GOMAXPROCS, a JVM "
    "on its GC threads (one per CPU that it sees up to 8 CPUs, fewer per CPU beyond), Node.js on its main thread and "
    "V8's workers. A cycle over a large heap needs a few hundred ms of CPU time. The kernel gives the cgroup `quota` "
    "of CPU time per `period` (100 ms): the cycle uses up all of it in the first part of a period, and everything in "
    "the cgroup is stopped for the rest. This repeats until the cycle is done. Average CPU use stays far below the "
    "limit. Go's pauses stay below 1 ms, so go_gc_duration_seconds does not show it. A JVM's GC log shows long pauses "
    "with little CPU time in them, but not what made them long. Found when the CPU time that the requests do not "
    "explain falls into GC cycles, or was used by a JVM's GC threads, and the requests alone, replayed through the "
    "limit, would not have been throttled, or when collections that stop the program used most of the CPU time of the "
    "stalls.",
    needs=NEEDS,
    rivals=("cpu/limit_too_low", "cpu/memory_limit_gc_spiral", "cpu/periodic_burst", "cpu/request_burst"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Throttling while a program starts and loads its data coincides with many quick GC cycles: start-up is left "
        "out.",
        "In a burst of requests on a small heap, every throttled tick coincides with GC although a cycle costs only a "
        "few ms.",
    ),
    references=(
        "https://go.dev/doc/gc-guide",
        "https://docs.kernel.org/scheduler/sched-bwc.html",
        "https://github.com/golang/go/issues/33803",
    ),
    signs=SIGNS,
)
