"""The whole node stands still: for that time no ordinary program runs on it."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.kernel.fixes import machine
from jitterscope.diagnosis.areas.kernel.readings import kernel_memory, node_harm
from jitterscope.diagnosis.areas.kernel.readings.node_harm import NodeHarm
from jitterscope.diagnosis.core import missing_data
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.freezes import (
    LEAST_US,
    METRIC,
    Freeze,
    any_timed,
    freezes,
    late_in_freezes,
    ticks_of,
)
from jitterscope.diagnosis.core.severity import lowered
from jitterscope.diagnosis.core.signals import number, series
from jitterscope.diagnosis.core.signs import Signs, shows
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import dilate

ID = "kernel/node_freeze"
NEEDS = (METRIC,)
# Where no answers are timed, this much (µs) is worth reporting.
UNTIMED_US = 500_000
# Fewer late answers make it less certain that the freezes delayed them.
MANY = 10
# Freezes in which this share of the node's CPU time counts as stolen are the hypervisor's.
STOLEN = 0.3


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    found = freezes(snapshot)
    if found is None:
        return missing_data.not_enough(ID, [*NEEDS], snapshot)
    if not found:
        return _none(snapshot)
    total = float(sum(one.length_us for one in found))
    longest = float(max(one.length_us for one in found))
    numbers = {"freezes": float(len(found)), "total_us": total, "longest_us": longest}
    hurt = node_harm.harm(snapshot, ticks_of(snapshot, found), total)
    if (reason := _not(hurt, total)) is not None:
        return NotFound(cause=ID, reason=f"The node froze {_how_often(numbers)}: {reason}.", numbers=numbers)
    return _found(snapshot, found, hurt, numbers)


def _none(snapshot: Snapshot) -> NotFound:
    longest = float(np.nanmax(series(snapshot.node, METRIC, snapshot.ticks), initial=0.0))
    late = f"A real-time thread of the collector ran at most {say.ms(longest)} late"
    reason = f"{late}." if longest < LEAST_US else f"{late}. Answers do not show that all CPUs stood still."
    return NotFound(cause=ID, reason=reason, numbers={"longest_us": longest})


def _how_often(numbers: dict[str, float]) -> str:
    """ "once, for at least 120 ms"; "3 times, once for at least 120 ms": when it began is known to a tick."""
    times = "once," if numbers["freezes"] == 1 else f"{numbers['freezes']:,.0f} times, once"
    return f"{times} for at least {say.ms(numbers['longest_us'])}"


def _not(hurt: NodeHarm, total_us: float) -> str | None:
    """Why freezes are not worth an incident; None: they are."""
    if hurt.answers is not None and hurt.answers.timed:
        late = f"{hurt.answers.suffered:,} answers were late meanwhile"
        return late if hurt.answers.severity is None else None
    return "too little, and no answers were timed" if total_us < UNTIMED_US else None


def _found(snapshot: Snapshot, found: tuple[Freeze, ...], hurt: NodeHarm, numbers: dict[str, float]) -> Found:
    hits, of = late_in_freezes(snapshot)
    end = ""
    if hurt.answers is not None and hurt.answers.suffered:
        served = hurt.answers.served
        end = f": {say.count(hurt.answers.suffered, served.one, served.noun)} delayed"
    stolen, wanted = _stolen(snapshot, found)
    silent = ", and no server answered" if any_timed(snapshot) else ""
    return Found(
        cause=ID,
        score=0.5,  # what keeps the kernel busy can hold the thread up, and says more
        confidence=_confidence(hits, of),
        severity=hurt.severity,
        harm=hurt.harm,
        title=f"The whole node froze {_how_often(numbers)}{end}",
        summary=f"Nothing ran for at least {say.ms(numbers['total_us'])} in all: a thread with real-time priority was "
        f"due and did not run{silent}. {_who(stolen, wanted)}",
        onset_us=found[0].start_us,
        last_us=min(snapshot.end_us, found[-1].end_us),
        impact=node_harm.impact(snapshot, hurt),
        evidence=_evidence(snapshot, found, numbers, (hits, of), (stolen, wanted)),
    )


def _confidence(hits: int, of: int) -> Confidence:
    """In that freezes are what delays answers: less if few or none were late, or most of them at other times."""
    return lowered("high", (hits < MANY) + (hits < 0.5 * of or not of))


def _stolen(snapshot: Snapshot, found: tuple[Freeze, ...]) -> tuple[float, float]:
    """CPU time (µs) that counts as stolen around the freezes, and all CPU time of the freezes; NaN: not recorded."""
    stolen = series(snapshot.node, "host_steal_us", snapshot.ticks)
    cpus = number(snapshot.node.fact("node.cpus")) or np.nan
    counted = stolen[dilate(ticks_of(snapshot, found), 0, 1)]
    taken = float(np.nansum(counted)) if np.isfinite(counted).any() else float("nan")
    return taken, cpus * sum(one.length_us for one in found)


def _who(stolen: float, wanted: float) -> str:
    if stolen >= STOLEN * wanted:
        return f"The hypervisor says that it took {say.percent(min(1.0, stolen / wanted))} of that time (steal)."
    seen = "The kernel did not count it as stolen. " if np.isfinite(stolen) else ""
    return (
        f"{seen}A hypervisor that pauses the machine (a CPU limit on the host, live migration, a snapshot), the "
        "firmware, or a program with a higher real-time priority looks like this from inside."
    )


def _evidence(
    snapshot: Snapshot, found: tuple[Freeze, ...], numbers: dict[str, float], late: tuple[int, int],
    stolen: tuple[float, float],
) -> list[Evidence]:  # fmt: skip
    ticks = np.flatnonzero(ticks_of(snapshot, found))
    low, high = max(0, int(ticks[0]) - 5), min(snapshot.ticks, int(ticks[-1]) + 6)
    share = numbers["total_us"] / (snapshot.ticks * snapshot.step_us)
    items = [
        Evidence(
            id="freezes",
            statement="Times in which a real-time thread was due and did not run",
            value=f"{len(found):,}, the longest at least {say.ms(numbers['longest_us'])}",
            comparison=f"at least {say.ms(numbers['total_us'])} in all",
            numbers=numbers,
            series=kernel_memory.refs(snapshot, METRIC, "collector_lateness_us", low=low, high=high),
        )
    ]
    hits, of = late
    if of:
        items.append(
            Evidence(
                id="late_in_freezes",
                statement="Late answers that waited for a freeze most of the time",
                value=f"{hits:,} of {of:,}",
                comparison=f"freezes take {say.percent(share)} of the time",
                numbers={"hits": float(hits), "of": float(of), "chance_ratio": share},
            )
        )
    taken, wanted = stolen
    if np.isfinite(taken) and np.isfinite(wanted):
        items.append(
            Evidence(
                id="stolen",
                statement="CPU time that the kernel counted as stolen then",
                value=say.ms(taken),
                comparison=f"of {say.ms(wanted)}",
                numbers={"stolen_us": taken, "of_us": wanted},
                series=kernel_memory.refs(snapshot, "host_steal_us", low=low, high=high),
            )
        )
    return items


def _shown(snapshot: Snapshot) -> bool:
    return shows((snapshot.node,), METRIC, least=LEAST_US - 1)


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    return machine.propose(found)


CAUSE = Cause(
    id=ID,
    title="The whole node freezes",
    summary="For tens or hundreds of milliseconds nothing runs on the node, and every server on it is late at once.",
    mechanism="A virtual machine runs only while its hypervisor lets it. It can be paused for live migration or a "
    "snapshot, or held back by a CPU limit that the host puts on it, and the guest need not be told: clocks go on, "
    "steal stays 0, and the time counts for whatever ran before. Firmware (SMI) and programs with real-time priority "
    "on all CPUs do the same to a physical machine. Inside, it looks like another fault in each program: one waits "
    "for a CPU, one for a lock, one collects garbage for 200 ms. The collector's sampling thread has real-time "
    "priority: when it is due and does not run for 30 ms or more, and no server answers meanwhile, the node froze.",
    needs=NEEDS,
    rivals=("kernel/dentry_reclaim_contention", "memory/reclaim_stall"),
    detect=detect,
    propose=propose,
    false_positives=(
        "On a node whose servers hardly answer anything, a single CPU that the kernel keeps busy can look like all.",
    ),
    references=(
        "https://docs.kernel.org/virt/kvm/x86/timekeeping.html",
        "https://wiki.linuxfoundation.org/realtime/documentation/howto/tools/cyclictest/start",
    ),
    subjects=("node",),
    signs=Signs((METRIC,), _shown),
)
