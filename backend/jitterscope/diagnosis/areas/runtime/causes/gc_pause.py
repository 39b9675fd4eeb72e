"""Collections stop the program for longer than an answer may take, with all the CPU that they ask for."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.runtime.causes import _report as report
from jitterscope.diagnosis.areas.runtime.fixes import collector
from jitterscope.diagnosis.areas.runtime.quantities import LONGEST_PAUSE
from jitterscope.diagnosis.areas.runtime.readings.pauses import LONG_US, Held, Pauses, read, ticks_of
from jitterscope.diagnosis.core import harm as answers_harm
from jitterscope.diagnosis.core import impact, missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.gc import read_gc
from jitterscope.diagnosis.core.harm import AnswersHarm
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.served import metrics, read_served
from jitterscope.diagnosis.core.severity import lowered
from jitterscope.diagnosis.core.signals import has, read_cpu
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.slow import limits, loosest_us, may_be_late, may_be_slow
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import runtimes

ID = "runtime/gc_pause"
NEEDS = ("cpu_throttled_periods", "gc_active_us")
# Of the slow answers at least so many waited in the pauses, and of the time of a slow answer so much passed there.
LEAST_SHARE, LEAST_TIME = 0.3, 0.3
# Of the long pauses, those that the collector itself made long.
MOSTLY_OWN = 0.6
_OTHERS: tuple[tuple[Held, str], ...] = (
    ("throttled", "were throttled by the CPU limit, which made them long"),
    ("memory", "passed while tasks waited for memory"),
    ("no_cpu", "passed while the collector got hardly any CPU"),
)


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if (lacking := _lacking(snapshot)) is not None:
        return lacking
    found = read(snapshot)
    assert found is not None, "_lacking says so otherwise"
    if (reason := _not(found)) is not None:
        return _as_far_as_seen(snapshot, found, reason)
    spans = ticks_of(snapshot, found.own)
    served = read_served(snapshot)
    late_us = loosest_us(limits(snapshot, served.servers, ~spans))
    hurt = answers_harm.harm(snapshot, spans, late_us, served=served)
    if not hurt.timed:
        return NotEnoughData(
            cause=ID,
            missing=["responses_slow"],
            reason=f"{say.count(len(found.own), 'pause')} over {say.ms(LONG_US)}, but answer times were not recorded: "
            "whether a client waited is not known.",
        )
    share = report.time_in_pauses(snapshot, found.own, late_us)
    if hurt.severity is None or hurt.inside < LEAST_SHARE * hurt.late or (share is not None and share < LEAST_TIME):
        return _as_far_as_seen(snapshot, found, _elsewhere(found, hurt, share))
    return _found(snapshot, found, hurt, share)


def _lacking(snapshot: Snapshot) -> NotEnoughData | None:
    if not has(read_cpu(snapshot).owner, NEEDS[0]):
        return missing_data.not_enough(ID, [NEEDS[0]], snapshot)
    if not read_gc(snapshot):
        return runtimes.gc_not_observed(ID, snapshot)
    if read(snapshot) is None:
        return missing_data.not_enough(ID, ["gc_pause_us"], snapshot)
    return None


def _not(found: Pauses) -> NotFound | None:
    """Why no pause is long, or what made long ones so."""
    numbers = {"pauses": float(found.count), "longest_us": found.longest_us, "long": float(len(found.long))}
    if not len(found.long):
        return NotFound(
            cause=ID,
            reason=f"The longest of {say.count(found.count, 'GC pause')} took {say.ms(found.longest_us)}: too short to "
            "make an answer slow.",
            numbers=numbers,
        )
    if len(found.own) >= MOSTLY_OWN * len(found.long):
        return None
    parts = [f"{found.held_by(what)} {text}" for what, text in _OTHERS if found.held_by(what)]
    return NotFound(
        cause=ID,
        reason=f"Of {say.count(len(found.long), 'pause')} over {say.ms(LONG_US)}, {', '.join(parts)}.",
        numbers=numbers | {"own": float(len(found.own))},
    )


def _as_far_as_seen(snapshot: Snapshot, found: Pauses, verdict: NotFound) -> NotFound | NotEnoughData:
    """Not ruled out where marking stopped the program unseen."""
    cycles = found.process.cycles.overlapping(snapshot.start_us, snapshot.end_us)
    unseen = int((cycles.marking_us > 0).sum())
    if not unseen or not runtimes.marks_in_unseen_stops(found.process.view):
        return verdict
    name = runtimes.name_of(found.process.view)
    return NotEnoughData(
        cause=ID,
        missing=["gc_pause_us"],
        reason=f"{verdict.reason} These are the pauses that can be seen: in {say.count(unseen, 'GC cycle')} {name} "
        "marked in steps, which stop the program too.",
    )


def _elsewhere(found: Pauses, hurt: AnswersHarm, share: float | None) -> NotFound:
    numbers = {"pauses": float(len(found.own)), "slow_inside": float(hurt.inside), "slow": float(hurt.late)}
    reason = f"{hurt.inside:,} of {hurt.late:,} slow answers fell into GC pauses over {say.ms(LONG_US)}."
    if share is not None and hurt.inside:
        numbers["time_ratio"] = share
        reason += f" Pauses account for {say.percent(share)} of the time of slow answers."
    return NotFound(cause=ID, reason=reason, numbers=numbers)


def _found(snapshot: Snapshot, found: Pauses, hurt: AnswersHarm, share: float | None) -> Found:
    own = found.own
    length = own.end_us - own.start_us
    name, runtime = say.who(snapshot), runtimes.name_of(found.process.view) or "its runtime"
    longest = float(length.max())
    late = f"answers take up to {hurt.max_ms:,.0f} ms" if hurt.max_ms else "answers are late"
    slow_share = hurt.inside / max(1, hurt.late)
    seconds = snapshot.ticks * snapshot.step_us / 1e6
    worked = f", and the process used {say.seconds(found.own_cpu_us)} of CPU time in them" if found.cpu_known else ""
    return Found(
        cause=ID,
        score=round(min(0.9, 0.4 + 0.4 * slow_share + 0.01 * min(10, len(own))), 4),
        confidence=lowered(_confidence(found, slow_share, share), _not_excluded(snapshot, found)),
        severity=hurt.severity,
        harm=hurt.harm,
        title=f"{name} stalls up to {longest / 1000:,.0f} ms while {runtime} collects garbage, so {late}",
        summary=f"{hurt.inside:,} of {hurt.late:,} slow answers waited in {say.count(len(own), 'GC pause')} of "
        f"{say.ms(float(length.min()))} to {say.ms(longest)} within {seconds:,.0f} s. No CPU limit made these pauses "
        f"long{worked}: they are the time that the collector's work takes.",
        onset_us=max(snapshot.start_us, int(own.start_us.min())),
        last_us=min(snapshot.end_us, max(int(own.end_us.max()), snapshot.start_us + snapshot.step_us)),
        impact=impact.of_harm(snapshot, hurt) | impact.of_cpu(snapshot) | impact_of({LONGEST_PAUSE: longest / 1000}),
        evidence=report.evidence(snapshot, found, hurt, share),
    )


def _confidence(found: Pauses, slow_share: float, share: float | None) -> Confidence:
    sure = found.process.sure and found.cpu_known and len(found.own) >= 2
    if sure and slow_share >= 0.6 and (share is None or share >= 0.5):
        return "high"
    return "medium" if found.process.sure and slow_share >= 0.5 else "low"


def _not_excluded(snapshot: Snapshot, found: Pauses) -> int:
    """Waits that may have lengthened the pauses and that nothing shows: for a CPU, and for memory.

    The CPU time that the process used in its pauses excludes both.
    """
    if found.cpu_known:
        return 0
    runs = has(snapshot.subject, "psi_cpu_some_us") or any(
        has(view, "process_run_delay_us") for view in snapshot.processes
    )
    return int(not runs) + int(not has(snapshot.subject, "psi_memory_some_us"))


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    pauses = read(snapshot)
    return [] if pauses is None else collector.propose(snapshot, pauses)


def _shown(snapshot: Snapshot) -> bool:
    """Slow answers and a long pause, or answers far slower than those of the quickest quarter.

    What is usual is judged beside the pauses, where answers may be quicker.
    """
    servers = read_served(snapshot).servers
    return any(map(may_be_slow, servers)) and (
        any(map(_may_pause, snapshot.processes)) or any(may_be_late(snapshot, one, 0.25) for one in servers)
    )


def _may_pause(process: ResourceView) -> bool:
    """Whether collections stopped it for long in two ticks: a pause over 20 ms lies in two at most, or fills one."""
    stopped = np.nan_to_num(process.series.get("gc_pause_us", np.zeros(1)))
    return bool((stopped + np.append(stopped[1:], 0.0) >= LONG_US).any())


CAUSE = Cause(
    id=ID,
    title="GC pauses delay answers",
    summary="The garbage collector stops the program for longer than an answer may take, and requests wait in the "
    "socket meanwhile.",
    mechanism="A stop-the-world collection runs no thread of the program until it is done. How long that takes "
    "depends on the live heap and the survivors, on the collector, and on its threads: a full collection of a few "
    "hundred MiB takes hundreds of ms. Requests that arrive meanwhile wait in the receive queue, and all are late by "
    "the rest of the pause. CPU limits and neighbors lengthen pauses too, so pauses in which the collector was "
    "throttled, waited for memory, or got hardly any CPU do not count. Found when slow answers fall into the "
    "remaining pauses. Go's pauses stay below 1 ms.",
    needs=NEEDS,
    rivals=(
        "app/lock_or_dependency",
        "cpu/event_loop_blocked",
        "cpu/gc_throttling",
        "cpu/neighbours",
        "memory/reclaim_stall",
    ),
    # Certain is only what used CPU all along, and who waits for memory or for a CPU uses none. Whether answers waited
    # in pauses or in the program's own work the times of single answers tell.
    excludes=("app/lock_or_dependency", "cpu/event_loop_blocked", "cpu/neighbours", "memory/reclaim_stall"),
    detect=detect,
    propose=propose,
    false_positives=(
        "Pauses of a batch job harm no request: without slow answers this cause is not reported.",
        "Node.js marks in small steps between requests: only what its main thread cannot interrupt counts as a pause.",
        "Ruby marks its whole heap in steps that are not seen: without long pauses among those that are, nothing is "
        "ruled out.",
    ),
    references=(
        "https://docs.oracle.com/en/java/javase/21/gctuning/garbage-first-g1-garbage-collector1.html",
        "https://nodejs.org/en/learn/diagnostics/memory/using-gc-traces",
        "https://docs.python.org/3/library/gc.html",
        "https://docs.ruby-lang.org/en/3.4/GC.html",
    ),
    looks_like_freezes=True,
    signs=Signs((*metrics("slow", "latency"), "gc_pause_us"), _shown),
)
