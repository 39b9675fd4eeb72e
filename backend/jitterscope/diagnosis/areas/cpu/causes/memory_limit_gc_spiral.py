"""GOMEMLIMIT is at or below the live heap: the garbage collector never rests."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.causes import _report as report
from jitterscope.diagnosis.areas.cpu.fixes import gomemlimit
from jitterscope.diagnosis.areas.cpu.readings.throttling import SIGNS, Judged, analyse
from jitterscope.diagnosis.core import patches
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import golang, runtimes

ID = "cpu/memory_limit_gc_spiral"
NEEDS = ("cpu_usage_us", "cpu_throttled_periods", "gc_active_us")


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    known = [runtimes.of(process) for process in snapshot.processes]
    if known and not {None, "go"}.intersection(known):
        return NotFound(cause=ID, reason=f"No Go program among {say.count(len(known), 'process', 'processes')} here.")
    context = report.prepare(ID, NEEDS, snapshot)
    if not isinstance(context, report.Context):
        return context
    throttling = context.throttling
    assert throttling.gc is not None, "needed"
    share = gc_time_ratio(context)
    limit = golang.memory_limit_bytes(throttling.gc.view)
    if limit is None:
        return NotFound(cause=ID, reason="GOMEMLIMIT is not set.", numbers={"gc_time_ratio": share})
    used = golang.counted_memory_bytes(snapshot.subject, throttling.gc.view)
    numbers = {"gc_time_ratio": share, "gomemlimit_bytes": float(limit)}
    if used is not None:
        numbers["memory_bytes"] = used
        if used < golang.NEAR * limit:
            return NotFound(
                cause=ID,
                reason=f"Memory ({say.mebibytes(used)}) stays below GOMEMLIMIT ({say.mebibytes(limit)}): the limit "
                "starts no cycles.",
                numbers=numbers,
            )
    judged = throttling.of("spiral")
    periods, of = report.periods_of(judged), throttling.throttled_periods
    if periods < 5 or periods < 0.2 * of:
        return NotFound(
            cause=ID,
            reason=f"GC cycles ran {say.percent(share)} of the time, with rest between them.",
            numbers=numbers,
        )
    hurt = report.harm_of(context, judged)
    inside = float(np.mean([item.gc_share_of_time for item in judged]))
    return report.build(
        context,
        judged,
        hurt,
        confidence=_confidence(context, judged, used, limit),
        title=f"{say.who(snapshot)}'s heap does not fit into GOMEMLIMIT={say.mebibytes(limit).replace(' ', '')}: GC "
        f"runs {say.percent(inside)} of the time and uses up the CPU limit, "
        f"{report.consequence(context, judged, hurt)}",
        summary=f"{report.harm_sentence(context, hurt)} {report.cpu_sentence(context)} "
        + (
            f"Memory is {say.mebibytes(used)}, and GOMEMLIMIT allows {say.mebibytes(limit)}. "
            if used is not None
            else ""
        )
        + "As soon as one cycle ends, the next one must start, and no cycle can free what is in use.",
        evidence=[
            *_evidence(context, judged, inside, used, limit),
            *report.slow_evidence(context, judged, hurt),
            *report.queue_evidence(context, judged),
        ],
    )


def gc_time_ratio(context: report.Context) -> float:
    """Share of the observed time in which a cycle was running."""
    go = context.throttling.gc
    assert go is not None
    known = np.isfinite(go.active_us) & ~context.throttling.starting
    return float(go.active_us[known].mean()) / context.snapshot.step_us if known.any() else 0.0


def _confidence(context: report.Context, judged: list[Judged], used: float | None, limit: int) -> Confidence:
    go = context.throttling.gc
    if go is None or go.source in ("threads", "unknown"):
        return "low"
    if used is None or used < 0.95 * limit or not go.sure:
        return "medium"
    return "high"


def _evidence(
    context: report.Context, judged: list[Judged], inside: float, used: float | None, limit: int
) -> list[Evidence]:
    cpu, go = context.throttling.cpu, context.throttling.gc
    assert go is not None
    of = sum(item.episode.periods for item in judged)
    low, high = report.extent(context.snapshot, judged)
    cycles = go.cycles.overlapping(low, high)
    found = [
        Evidence(
            id="gc_time",
            statement="Time in which a GC cycle was running",
            value=say.percent(inside),
            comparison=f"{say.count(len(cycles), 'cycle')} in {(high - low) / 1e6:,.0f} s",
            numbers={"gc_time_ratio": inside, "cycles": float(len(cycles))},
            series=report.refs(context, judged, (go.view.id, "gc_active_us")),
        ),
        Evidence(
            id="always_throttled",
            statement="Periods that ended throttled",
            value=f"{report.periods_of(judged)} of {of}",
            numbers={"throttled_periods": float(report.periods_of(judged)), "of": float(of)},
            series=report.refs(context, judged, (cpu.owner.id, "cpu_throttled_periods")),
        ),
    ]
    if used is not None:
        metric = (context.snapshot.subject.id, "memory_anon_bytes")
        if metric[1] not in context.snapshot.subject.series:
            metric = (go.view.id, "heap_live_bytes")
        found.insert(
            0,
            Evidence(
                id="memory",
                statement="Memory in use / GOMEMLIMIT",
                value=f"{say.mebibytes(used)} / {say.mebibytes(limit)}",
                numbers={"memory_bytes": used, "gomemlimit_bytes": float(limit)},
                series=report.refs(context, judged, metric),
            ),
        )
    return found


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    throttling = analyse(snapshot)
    if throttling.gc is None:
        return []
    return gomemlimit.propose(snapshot, throttling, found, patches.VERIFY)


CAUSE = Cause(
    id=ID,
    title="GOMEMLIMIT below the live heap (GC spiral)",
    summary="The memory limit of the Go runtime is smaller than what the program keeps in use, so the runtime "
    "collects constantly and leaves no CPU for the work.",
    mechanism="GOMEMLIMIT is a soft limit: when memory reaches it, a cycle starts, whatever GOGC says. If the live "
    "heap is as large as the limit, a cycle frees next to nothing and the next one starts at once. The runtime caps "
    "GC at half of GOMAXPROCS, which does not know the CPU limit: under a quota that can be all of it. Found when "
    "cycles of a heap at GOMEMLIMIT follow each other without rest and the cgroup is throttled.",
    needs=NEEDS,
    rivals=("cpu/gc_throttling", "cpu/limit_too_low", "cpu/periodic_burst", "cpu/request_burst"),
    detect=detect,
    propose=propose,
    false_positives=(
        "A server that allocates heavily on a small heap under load also collects nearly all the time, in short "
        "cycles.",
    ),
    references=(
        "https://go.dev/doc/gc-guide#Memory_limit",
        "https://github.com/golang/go/issues/58106",
        "https://github.com/golang/go/issues/59715",
    ),
    signs=SIGNS,
)
