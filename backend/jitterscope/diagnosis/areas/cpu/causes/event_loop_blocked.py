"""The one thread that does all the work of a server is busy, and requests wait for it while other CPUs are idle."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.fixes import event_loop as fixes
from jitterscope.diagnosis.areas.cpu.readings import event_loop
from jitterscope.diagnosis.areas.cpu.readings.event_loop import Blocked, Loop
from jitterscope.diagnosis.core import harm, held_up, impact, missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound, SeriesRef
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.served import Served, metric, metrics, read_served
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.slow import may_be_slow
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "cpu/event_loop_blocked"
NEEDS = ("process_cpu_us", "host_idle_us", "responses_slow")
# Fewer busy ticks than this are no pattern.
LEAST_TICKS = 3
# A CPU is free for it where some is idle, or where its thread hardly waits for one: what others use has less weight.
IDLE_CPUS, DELAYED = 0.1, 0.2
COLLECTING, LEAST_WAITS = 0.5, 3
# The evidence that refers to the process.
USED = "one_cpu"
# Late answers of which it ran most of the time: enough of them to be sure.
MANY, MOSTLY = 10, 0.7


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    served = read_served(snapshot)
    gone = [] if any(has(view, "process_cpu_us") for view in snapshot.processes) else ["process_cpu_us"]
    gone += [] if has(snapshot.node, "host_idle_us") else ["host_idle_us"]
    gone += [] if any(has(one, "responses_slow") for one in served.servers) else ["responses_slow"]
    if gone:
        return missing_data.not_enough(ID, gone, snapshot)
    loops = event_loop.read_loops(snapshot)
    if not loops:
        count = len(snapshot.processes)
        unknown = f"No single-threaded program is known among its {count} processes."
        return NotFound(cause=ID, reason=unknown, numbers={"processes": float(count)})
    judged = [_judge(snapshot, loop, served) for loop in loops]
    return next((one for one in judged if isinstance(one, Found)), judged[0])


def _judge(snapshot: Snapshot, loop: Loop, served: Served) -> Found | NotFound:
    ticks = float(loop.busy.sum())
    numbers = {"busy_ticks": ticks, "idle_cpus": loop.idle, "throttled_ticks": float(loop.throttled.sum())}
    spans = held_up.apart(snapshot, loop.busy)
    late_us = held_up.late_us(snapshot, spans)
    found = event_loop.blocked(snapshot, loop, late_us)
    if (reason := _not_busy(snapshot, loop, found)) is not None:
        return NotFound(cause=ID, reason=reason, numbers={k: v for k, v in numbers.items() if np.isfinite(v)})
    hurt = harm.harm(snapshot, spans, late_us, served=served)
    if (reason := _nobody_waits(snapshot, loop, hurt, found)) is not None:
        numbers |= {"late": float(hurt.late), "waited_for_it": float(found.hits)}
        return NotFound(cause=ID, reason=reason, numbers=numbers)
    return _found(snapshot, loop, hurt, found)


def _free(loop: Loop) -> bool:
    """A CPU was there for its thread."""
    return loop.idle >= IDLE_CPUS or loop.delayed < DELAYED


def _ran(found: Blocked) -> bool:
    """It ran while most late answers waited: others had no part in that, however many threads waited for a CPU."""
    return found.of >= MANY and found.hits >= MOSTLY * found.of


def _not_busy(snapshot: Snapshot, loop: Loop, found: Blocked) -> str | None:
    """Why its thread is not what is short; None: it may be."""
    step, name = snapshot.step_us, loop.kind.program
    ticks, peak = int(loop.busy.sum()), float(np.nanmax(loop.used_us)) / step
    if ticks < LEAST_TICKS:
        return f"{name} used at most {peak:.2g} CPU in a tick and was busy for long in {ticks} ticks."
    if loop.throttled.sum() > 0.5 * ticks:
        return f"{int(loop.throttled.sum())} of {ticks} ticks in which {name} was busy fall into throttled periods."
    if loop.mean(step) > event_loop.MOST:
        return f"{name} used {loop.mean(step):.2g} CPU in busy ticks: several threads were working."
    if not (_free(loop) or _ran(found)):
        return (
            f"While {name} was busy, {loop.idle:.2g} CPUs of the node were idle, and it is not known whether its "
            "threads got a CPU at once: the node might be short of CPU, not one thread."
        )
    if loop.collecting >= COLLECTING:
        return f"{name} collected garbage for {say.percent(loop.collecting)} of its CPU time in busy ticks."
    return None


def _nobody_waits(snapshot: Snapshot, loop: Loop, hurt: AnswersHarm, found: Blocked) -> str | None:
    """Why busy stretches are not what makes answers late; None: they are."""
    busy = f"{loop.kind.program} was busy in {int(loop.busy.sum())} ticks"
    if hurt.severity is None:
        return f"{busy}, and meanwhile {hurt.suffered:,} answers were late."
    if found.hits < 0.5 * found.of:
        return (
            f"It ran for at least {say.percent(event_loop.RAN)} of the time of {found.hits:,} of {found.of:,} late "
            "answers: the others waited for something else."
        )
    if not loop.saturated and not found.together.beyond_chance:
        return (
            f"{busy}. {found.together.hits} of {found.together.of} ticks with slow answers are among them (by chance: "
            f"{say.percent(found.together.chance_ratio)})."
        )
    if found.waits is not None and found.waits < LEAST_WAITS:
        return f"{busy}, and {found.waits:,.0f} requests waited over {say.ms(event_loop.WAIT_US)} to be read meanwhile."
    return None


def _found(snapshot: Snapshot, loop: Loop, hurt: AnswersHarm, found: Blocked) -> Found:
    ticks, step = np.flatnonzero(loop.busy), snapshot.step_us
    low, high = snapshot.start_us + int(ticks[0]) * step, snapshot.start_us + (int(ticks[-1]) + 1) * step
    name, kind, used = _who(snapshot, loop), loop.kind, loop.mean(step)
    longest = loop.longest_us(step)
    late = f"takes up to {hurt.max_ms:,.0f} ms to answer" if hurt.max_ms else "answers late"
    if loop.saturated:
        why = f"its one {kind.thread} uses {used:.2g} CPU all the time"
    else:
        why = f"its one {kind.thread} is busy for up to {say.ms(longest)} at a time"
    ratio = event_loop.cost_ratio(snapshot, loop)
    cost = f" A request then costs {say.times(ratio)} as much CPU." if ratio >= 2 and not loop.saturated else ""
    return Found(
        cause=ID,
        score=round(0.5 + 0.3 * found.hits / max(1, found.of) + 0.2 * (hurt.severity is not None), 4),
        confidence=_confidence(loop, hurt, found),
        severity=hurt.severity,
        harm=hurt.harm,
        title=f"{name} {late}: {why}",
        summary=f"{hurt.inside:,} of {hurt.queries:,.0f} {hurt.served.noun} took {hurt.over} because {kind.program} "
        f"runs one {kind.task} at a time: in {len(ticks):,} ticks it used {used:.2g} CPU {_room(loop, found)}. No "
        f"limit throttled it.{cost}",
        onset_us=low,
        last_us=high,
        impact=impact.of_harm(snapshot, hurt) | impact.of_cpu(snapshot),
        evidence=_evidence(snapshot, loop, hurt, found, low, high),
    )


def _room(loop: Loop, found: Blocked) -> str:
    if loop.idle >= IDLE_CPUS:
        return f"while {loop.idle:.2g} CPUs of the node were idle"
    if not _free(loop):
        return f"and ran for most of the time of {found.hits:,} of {found.of:,} late answers"
    return f"and waited for a CPU for {say.percent(loop.delayed)} of that time"


def _who(snapshot: Snapshot, loop: Loop) -> str:
    """The container where its name is known: there are many Node.js."""
    return snapshot.subject.fact("workload.container") or loop.kind.program


def _confidence(loop: Loop, hurt: AnswersHarm, found: Blocked) -> Confidence:
    if found.waits is None or not hurt.timed or not _free(loop):
        return "medium"
    return "high" if _ran(found) else "medium"


def _evidence(snapshot: Snapshot, loop: Loop, hurt: AnswersHarm, found: Blocked, low: int, high: int) -> list[Evidence]:
    def refs(view_id: int, name: str) -> list[SeriesRef]:
        return [SeriesRef(resource_id=view_id, metric=name, from_us=low, to_us=high)]

    used, together = loop.mean(snapshot.step_us), found.together
    slow = [one for one in hurt.served.servers if has(one, metric(one, "slow"))]
    evidence = [
        Evidence(
            id=USED,
            statement=f"CPU that {loop.kind.program} used in busy ticks",
            value=f"{used:.2g} CPU",
            comparison=f"{int(loop.busy.sum()):,} ticks ({say.percent(loop.share)})",
            numbers={"cpus": used, "ticks": float(loop.busy.sum()), "share": loop.share},
            series=refs(loop.process.id, "process_cpu_us"),
        ),
        Evidence(
            id="idle_cpus",
            statement="CPUs of the node that were idle meanwhile",
            value=f"{loop.idle:.2g}",
            comparison=f"of {event_loop.cpus(snapshot) or 0:g}",
            numbers={"idle_cpus": loop.idle},
            series=refs(snapshot.node.id, "host_idle_us"),
        ),
        Evidence(
            id="ran_meanwhile",
            statement=f"Late answers during which it ran for at least {say.percent(event_loop.RAN)} of the time",
            value=f"{found.hits:,} of {found.of:,}",
            comparison=f"ticks with slow answers: {together.hits} of {together.of} while it was busy, by chance: "
            f"{say.percent(together.chance_ratio)}",
            numbers={
                "hits": found.hits, "of": found.of, "chance_ratio": together.chance_ratio, "p_value": together.p_shift,
            },
            series=[one for view in slow for one in refs(view.id, metric(view, "slow"))],
        ),
    ]  # fmt: skip
    if has(loop.process, "gc_pause_us"):
        evidence.append(
            Evidence(
                id="collecting",
                statement=f"Share of the CPU time in busy ticks in which {loop.kind.program} was stopped for GC",
                value=say.percent(loop.collecting),
                comparison=f"counts as a GC pause from {say.percent(COLLECTING)}",
                numbers={"share": loop.collecting},
                series=refs(loop.process.id, "gc_pause_us"),
            )
        )
    if found.waits is not None:
        waiting = [one for one in hurt.served.servers if metric(one, "wait") in one.distributions]
        evidence.append(
            Evidence(
                id="waits",
                statement=f"Requests that waited over {say.ms(event_loop.WAIT_US)} in the socket while it was busy",
                value=f"{found.waits:,.0f}",
                comparison=f"up to {say.ms(found.longest_wait_us)}",
                numbers={"waits": found.waits, "longest_us": found.longest_wait_us},
                series=[one for view in waiting for one in refs(view.id, metric(view, "wait"))],
            )
        )
    return evidence


def _shown(snapshot: Snapshot) -> bool:
    return any(map(may_be_slow, snapshot.tcp_servers))


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    (process_id,) = {ref.resource_id for one in found.evidence if one.id == USED for ref in one.series}
    loop = next(one for one in event_loop.read_loops(snapshot) if one.process.id == process_id)
    return fixes.propose(snapshot, found, loop)


CAUSE = Cause(
    id=ID,
    title="One thread is busy, and requests wait for it",
    summary="A server that does its work in one thread runs something long while other CPUs are idle.",
    mechanism="Node.js, Python, Redis, and Valkey run one function or command at a time. While one of them computes "
    "for 100 ms, each request that arrives waits in the socket as long, and the process uses at most one CPU, however "
    "many are idle. If the process always uses 100 % of one CPU, a queue builds up instead. More CPU does not help. "
    "Found where late answers fall into stretches in which the process used CPU for most of their time, outside "
    "throttled periods, GC pauses, and times without an idle CPU. Without an idle CPU it is found only where the "
    "process ran for most of the time of nearly all late answers.",
    needs=NEEDS,
    rivals=(
        "app/lock_or_dependency",
        "cpu/gc_throttling",
        "cpu/neighbours",
        "cpu/request_burst",
        "dns/single_socket_serialization",
        "net/accept_queue",
        "runtime/gc_pause",
    ),
    # One reads servers of another kind; a process that runs for most of an answer's time does not wait for a CPU or
    # for another server, and does not accept meanwhile either.
    excludes=("app/lock_or_dependency", "cpu/neighbours", "dns/single_socket_serialization", "net/accept_queue"),
    detect=detect,
    propose=propose,
    false_positives=(
        "A request that takes long by itself is slow although no request waits: where the collector sees them, "
        "requests that waited to be read are counted.",
    ),
    references=(
        "https://nodejs.org/en/learn/asynchronous-work/dont-block-the-event-loop",
        "https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/latency/",
        "https://docs.python.org/3/glossary.html#term-global-interpreter-lock",
    ),
    looks_like_freezes=True,
    signs=Signs(metrics("slow"), _shown),
)
