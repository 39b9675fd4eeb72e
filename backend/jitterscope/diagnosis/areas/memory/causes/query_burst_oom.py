"""More queries wait at once than the memory limit has room for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.areas.memory.causes import _report as report
from jitterscope.diagnosis.areas.memory.fixes import memory_limit, query_memory
from jitterscope.diagnosis.areas.memory.readings import signals as memory_signals
from jitterscope.diagnosis.areas.memory.readings.oom import Alarm, NoAlarm, first_alarm, of_burst
from jitterscope.diagnosis.areas.memory.readings.signals import Life, Memory
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import (
    USUAL_S,
    Burst,
    NoBurst,
    burst,
    burst_until,
    may_pile_up,
    waiting,
)
from jitterscope.diagnosis.core import impact, servers
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, Harm, NotEnoughData, NotFound, Severity
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.severity import harm_of
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "memory/query_burst_oom"
NEEDS = ("memory_usage_bytes", "dns_queries", "dns_inflight")
# A burst that came this near to the limit is told though it passed.
NEAR = 0.8
# How far apart a collector that is short of CPU reads the memory of a cgroup.
SHED_TICKS = 10


@dataclass(frozen=True, slots=True)
class Case:
    """A burst in one life of the server. `alarm` is None where it passed; `first` what was to be said before a kill."""

    memory: Memory
    life: Life
    limit: float
    burst: Burst
    alarm: Alarm | None
    first: Alarm | None

    @property
    def over(self) -> bool:
        """It passed without a kill, and none is near."""
        return self.alarm is None and not self.life.killed


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    case = find(snapshot)
    return _found(snapshot, case) if isinstance(case, Case) else case


@reading
def find(snapshot: Snapshot) -> Case | NotFound | NotEnoughData:
    """The newest burst that fills memory or ended in a kill; else the newest that came near the limit."""
    memory = memory_signals.read(snapshot)
    gone = ["memory_usage_bytes"] if memory is None else []
    gone += servers.missing(snapshot, ("dns_queries", "dns_inflight"))
    if gone or memory is None:
        return report.not_enough(ID, gone, snapshot)
    if memory.owner.fact("memory.limit_bytes") is None:
        return report.not_enough(ID, ["memory.limit_bytes"], snapshot)
    if not np.isfinite(memory.limit_bytes):
        return NotFound(cause=ID, reason="There is no memory limit.")
    why: NoBurst | NoAlarm | None = None
    near: Case | None = None
    lives = memory_signals.lives(memory)
    for life in reversed(lives):
        limit = float(memory.limit[min(life.end, snapshot.ticks) - 1])
        found = burst(snapshot, life)
        if isinstance(found, Burst) and life.killed and not found.fills(limit):
            used = say.mebibytes(found.growth.now)
            found = NoBurst(f"With {used} in use without page cache, waiting queries did not fill the limit.", {
                "used_bytes": found.growth.now, "limit_bytes": limit})  # fmt: skip
        if isinstance(found, Burst) and life is not lives[-1] and _is_cut(snapshot, memory, life, found):
            found = NoBurst("The time before an earlier burst is no longer in the window.", {})
        if isinstance(found, NoBurst):
            near = near or _passed(snapshot, memory, life, limit)
            why = why or found
            continue
        if life.killed:
            return Case(memory, life, limit, found, None, first_alarm(snapshot, memory, life, limit, by_queries=True))
        alarm = of_burst(found, limit)
        if isinstance(alarm, Alarm):
            return Case(memory, life, limit, found, alarm, None)
        if found.growth.now >= NEAR * limit:
            near = near or Case(memory, life, limit, found, None, None)
        why = why or alarm
    if near is not None:
        return near
    if why is None:
        return NotFound(cause=ID, reason="Too little data to tell whether memory grows.", numbers={})
    return NotFound(cause=ID, reason=why.reason, numbers=why.numbers)


def _is_cut(snapshot: Snapshot, memory: Memory, life: Life, found: Burst) -> bool:
    """A life from before the window, full already when queries piled up soon after its start.

    Whether something else filled it was judged while the window had more of it.
    """
    lived = life.start == 0 and np.isfinite(memory.owner.series["memory_usage_bytes"][:SHED_TICKS]).any()
    soon = found.growth.onset * snapshot.step_us < USUAL_S * 1e6
    return bool(lived) and soon and found.growth.base > found.growth.risen


def _passed(snapshot: Snapshot, memory: Memory, life: Life, limit: float) -> Case | None:
    """A burst that came near the limit and went again."""
    peak = life.start + int(np.argmax(memory.net[life.start : life.end]))
    if life.killed or float(memory.net[peak]) < NEAR * limit:
        return None
    # Memory stays where it was once the queries have gone: look at the moment when most of them waited.
    counted = waiting(snapshot, life)
    if counted is None:
        return None
    most = life.start + int(np.argmax(counted.values[life.start : peak + 1]))
    found = burst_until(snapshot, memory, life, most + 1)
    if not isinstance(found, Burst) or found.growth.now < NEAR * limit:
        return None
    return Case(memory, replace(life, end=most + 1), limit, found, None, None)


def _found(snapshot: Snapshot, case: Case) -> Found:
    rise, found = case.burst.growth, case.burst
    onset = snapshot.start_us + rise.onset * snapshot.step_us
    last = snapshot.start_us + min(snapshot.ticks, case.life.end + case.life.killed) * snapshot.step_us
    severity: Severity | None = None if case.over else "critical"
    return Found(
        cause=ID,
        score=0.5 if case.over else 1.0,
        confidence=_confidence(found),
        severity=severity,
        harm=_harm(case),
        title=_title(snapshot, case),
        summary=_summary(case),
        onset_us=onset,
        last_us=max(onset + snapshot.step_us, last),
        impact=impact.of_servers(snapshot),
        evidence=_evidence(snapshot, case),
    )


def _harm(case: Case) -> Harm:
    """A kill is harm; what passed without one is none only where kills are counted."""
    if case.memory.kills.any():
        return "measured"
    known = has(case.memory.owner, "memory_oom_kills")
    return harm_of(None, known=known) if case.alarm is None else "predicted"


def _confidence(found: Burst) -> Confidence:
    if found.correlation >= 0.95 and found.explained >= 0.8 and found.growth.seconds >= 0.8:
        return "high"
    return "medium" if found.correlation >= 0.85 else "low"


def _title(snapshot: Snapshot, case: Case) -> str:
    found = case.burst
    many, each = f"{found.most:,.0f} {found.waiting.unit}", report.kib(found.per_query)
    who, limit = say.who(snapshot), say.mebibytes(case.limit)
    if case.life.killed:
        return f"{who} was OOM-killed at {limit}: a burst left {many} waiting, {each} each"
    if case.alarm is not None:
        when = report.about(case.alarm.seconds)
        return f"A burst fills {who}'s memory: {many} wait at {each} each, its limit of {limit} is about {when} away"
    share = say.percent(found.growth.now / case.limit)
    return f"A burst brought {who} to {share} of its memory limit: {many} waited at {each} each"


def _summary(case: Case) -> str:
    found, rise = case.burst, case.burst.growth
    parts = [
        f"{found.arrivals_per_s:,.0f} queries/s arrive, and the number waiting grows by {found.joining_per_s:,.0f}/s. "
        f"Memory without page cache went from {say.mebibytes(rise.base)} to {say.mebibytes(rise.now)} of "
        f"{say.mebibytes(case.limit)} in {report.about(rise.seconds)}."
    ]
    room = max(0.0, (case.limit - rise.base) / found.per_query)
    parts.append(f"The limit has room for about {room:,.0f} waiting queries on top of what the server itself needs.")
    if found.bound == "deadline":
        parts.append(
            "CoreDNS holds a query until its upstream answers or three attempts of 2 s have failed, so up to "
            f"{found.ceiling:,.0f} can wait."
        )
    elif found.bound == "latency" and found.wait_s is not None:
        parts.append(f"Each waits up to {found.wait_s:.1f} s, so up to {found.ceiling:,.0f} can wait.")
    elif found.bound == "max_concurrent":
        parts.append(f"max_concurrent allows {found.ceiling:,.0f} to wait, which is more than fits.")
    else:
        parts.append("Nothing limits how many can wait.")
    return " ".join(parts)


def _evidence(snapshot: Snapshot, case: Case) -> list[Evidence]:
    found, rise, memory = case.burst, case.burst.growth, case.memory
    first, last = rise.onset, rise.end
    servers = found.waiting.views
    items: list[Evidence] = []
    if case.alarm is not None:
        items.append(report.prediction(snapshot, memory, case.alarm, first, case.limit))
    if case.life.killed:
        items += report.killed(snapshot, memory, case.life, case.first, case.limit)
    low, high = found.per_query_range
    items += [
        Evidence(
            id="bytes_per_query",
            statement="Memory per waiting query",
            value=report.kib(found.per_query),
            comparison=f"memory follows them: r {found.correlation:.2f}; {say.percent(found.explained)} of the rise",
            numbers={
                "bytes": found.per_query, "low_bytes": low, "high_bytes": high, "correlation": found.correlation,
                "explained_ratio": found.explained, "base_bytes": rise.base,
            },
            series=report.refs(snapshot, first, last, (memory.owner,), "memory_usage_bytes"),
        ),
        Evidence(
            id="waiting",
            statement="Waiting queries",
            value=f"{found.most:,.0f}",
            comparison=f"usual: {found.usual:,.0f}",
            numbers={
                "most": found.most, "usual": found.usual, "joining_per_s": found.joining_per_s,
                "arrivals_per_s": found.arrivals_per_s,
            },
            series=report.refs(snapshot, first, last, servers, "dns_inflight", "dns_queries"),
        ),
    ]  # fmt: skip
    if np.isfinite(found.ceiling):
        items.append(
            Evidence(
                id="highest_memory",
                statement="Memory with as many queries as can wait",
                value=say.mebibytes(found.highest),
                comparison=f"limit: {say.mebibytes(case.limit)}",
                numbers={"bytes": found.highest, "limit_bytes": case.limit, "waiting": found.ceiling},
                series=report.refs(snapshot, first, last, (memory.owner,), "memory_usage_bytes"),
            )
        )
    return [*items, *_of_processes(snapshot, rise.onset, rise.end)]


def _of_processes(snapshot: Snapshot, first: int, last: int) -> list[Evidence]:
    """Goroutines and descriptors rise with the queries, where they are counted."""
    items = []
    for metric, name in (("go_goroutines", "goroutines"), ("process_fds", "descriptors")):
        for view in snapshot.processes:
            values = view.series.get(metric)
            known = np.array([]) if values is None else values[first:last][np.isfinite(values[first:last])]
            if len(known) >= 2 and known[-1] > 1.5 * known[0] and known[-1] - known[0] >= 50:
                items.append(
                    Evidence(
                        id=name,
                        statement=f"Open {name}" if name == "descriptors" else name.capitalize(),
                        value=f"{known[-1]:,.0f}",
                        comparison=f"{known[0]:,.0f} when the burst began",
                        numbers={"most": float(known[-1]), "before": float(known[0])},
                        series=report.refs(snapshot, first, last, (view,), metric),
                    )
                )
                break
    return items


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    case = find(snapshot)
    if not isinstance(case, Case):
        return []
    return [
        *query_memory.propose(snapshot, case.burst, case.limit),
        *memory_limit.for_burst(snapshot, case.memory, case.burst, case.limit),
    ]


CAUSE = Cause(
    id=ID,
    title="Query burst exceeds the memory limit",
    summary="Queries arrive faster than they are answered. Each waiting query holds memory, until the limit is "
    "reached and the kernel kills the server.",
    mechanism="CoreDNS serves each query in a goroutine of its own, and one that is forwarded also holds a socket and "
    "buffers until the upstream answers or 5 s have passed: 15 to 25 KiB in total. Only `max_concurrent` limits how "
    "many wait. Memory is then base + bytes per query × waiting queries, and the waiting queries are rate × wait: a "
    "slow upstream or a burst of uncached names multiplies them within seconds. Both factors are measured here, so "
    "the time until the limit is reached is known before the kill.",
    needs=NEEDS,
    rivals=("memory/limit_oom",),
    detect=detect,
    propose=propose,
    false_positives=(
        "A burst that ends by itself before the predicted moment: the prediction assumes that queries keep coming.",
        "A server that also grows for another reason at the same time: the growth is attributed to the queries unless "
        "some tick tells the two apart.",
    ),
    references=(
        "https://github.com/coredns/coredns/issues/2593",
        "https://github.com/coredns/coredns/issues/4823",
        "https://coredns.io/plugins/forward/",
    ),
    signs=Signs(("dns_inflight",), may_pile_up),
)
