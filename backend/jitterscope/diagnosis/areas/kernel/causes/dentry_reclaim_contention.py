"""The kernel throws millions of cached names away at once, and whoever needs its locks or that CPU waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.areas.kernel.fixes import dentries as fixes
from jitterscope.diagnosis.areas.kernel.fixes import dentry_stalls as stall_fixes
from jitterscope.diagnosis.areas.kernel.readings import dentry_report as report
from jitterscope.diagnosis.areas.kernel.readings import kernel_memory, node_harm
from jitterscope.diagnosis.areas.kernel.readings.dentry_stalls import (
    SERIES,
    Passed,
    Stall,
    Trigger,
    may_stall,
    spans,
    stalls,
)
from jitterscope.diagnosis.areas.kernel.readings.node_harm import NodeHarm
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.finding import Evidence, Fix, Found, NotEnoughData, NotFound
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.signs import Signs
from jitterscope.diagnosis.core.snapshot import Snapshot

ID = "kernel/dentry_reclaim_contention"
NEEDS = ("dentries", "host_system_us")
_WHAT: dict[Trigger, str] = {
    "drop": "A manual cache drop",
    "unmount": "An unmount",
    # The collector sees the mounts of the node's own namespace.
    "directory": "A removed directory or an unmount inside a container",
    "direct_reclaim": "Direct reclaim",
    "kswapd": "Background reclaim (kswapd)",
    "thread_exit": "A mass exit of threads",
}


def detect(snapshot: Snapshot) -> Found | NotFound | NotEnoughData:
    if gone := kernel_memory.missing(snapshot, NEEDS):
        return kernel_memory.not_enough(ID, gone, snapshot)
    found, passed = stalls(snapshot)
    unknown = sorted({one.missing for one in passed if one.missing is not None})
    if not found and unknown:
        return kernel_memory.not_enough(ID, unknown, snapshot)
    if not found:
        return _quiet(snapshot, passed)
    return _found(snapshot, found)


def _quiet(snapshot: Snapshot, passed: Sequence[Passed]) -> NotFound:
    if passed:
        largest = max(passed, key=lambda item: item.fall.freed)
        return NotFound(
            cause=ID,
            reason=f"{largest.fall.freed:,.0f} dentries were freed, but {largest.why}.",
            numbers={"freed": largest.fall.freed},
        )
    held = kernel_memory.last(kernel_memory.read(snapshot).total)
    return NotFound(
        cause=ID, reason=f"The kernel kept its {held:,.0f} dentries throughout.", numbers={"dentries": held}
    )


def _found(snapshot: Snapshot, found: Sequence[Stall]) -> Found:
    worst = max(found, key=lambda stall: stall.system_us)
    hurt = node_harm.harm(snapshot, spans(snapshot, found), sum(stall.duration_us for stall in found))
    return Found(
        cause=ID,
        score=0.9 if worst.fall is not None else 0.7,
        confidence="high" if worst.trigger in ("drop", "unmount") else "medium",
        severity=hurt.severity,
        harm=hurt.harm,
        title=_title(worst, hurt),
        summary=_summary(snapshot, found, worst),
        onset_us=snapshot.start_us + found[0].start * snapshot.step_us,
        last_us=min(snapshot.end_us, snapshot.start_us + found[-1].end * snapshot.step_us),
        impact=node_harm.impact(snapshot, hurt),
        evidence=_evidence(snapshot, found, worst, hurt),
    )


def _what(stall: Stall) -> str:
    if stall.trigger == "unmount" and stall.unmounts:
        event = max(stall.unmounts, key=lambda event: event.duration_us)
        target = event.attributes.get("target", "")
        pod = " (pod volume)" if "/kubelet/pods/" in target or "/containerd/" in target else ""
        by = f" by {event.attributes['command']}" if event.attributes.get("command") else ""
        return f"Unmounting {report.shortened(target, 40) or 'a file system'}{pod}{by}"
    if stall.trigger == "drop" and stall.drops and stall.drops[0].attributes.get("command"):
        return f"{_WHAT['drop']} ({stall.drops[0].attributes['command']})"
    if stall.trigger == "thread_exit" and stall.exits:
        return f"The exit of {stall.threads:,.0f} threads of {stall.exits[0].attributes.get('command', 'a program')}"
    return _WHAT[stall.trigger]


def _title(worst: Stall, hurt: NodeHarm) -> str:
    took = f"kept a CPU busy in the kernel for {worst.duration_us / 1e6:.1f} s"
    if worst.fall is not None:
        freed = f"freed {worst.fall.freed:,.0f} dentries and "
    else:
        freed = "contended for the one lock of all dentries and "
    end = ""
    if hurt.answers is not None and hurt.answers.suffered:
        served = hurt.answers.served
        what = "DNS " if served.noun == "queries" else ""
        end = f": {say.count(hurt.answers.suffered, what + served.one, what + served.noun)} delayed"
    elif hurt.waited_us is not None and hurt.waited_us >= 100_000:
        end = f": tasks waited for {hurt.waited_us / 1e6:.1f} s"
    return f"{_what(worst)} {freed}{took}{end}"


def _summary(snapshot: Snapshot, found: Sequence[Stall], worst: Stall) -> str:
    parts = []
    if worst.fall is not None:
        fall = worst.fall
        each = f"{worst.duration_us / fall.weight:.2f} µs"
        if fall.negative_known:
            parts.append(
                f"{fall.negative:,.0f} of the {fall.freed:,.0f} dentries were for files that do not exist (negative); "
                f"each took {each}."
            )
        else:
            parts.append(f"How many of the {fall.freed:,.0f} dentries were negative was not counted.")
    if worst.others:
        parts.append("At the same time: " + " and ".join(_WHAT[other].lower() for other in worst.others) + ".")
    if len(found) > 1:
        total = sum(stall.duration_us for stall in found) / 1e6
        parts.append(f"{len(found)} such stalls in this window, {total:.1f} s in total.")
    left = kernel_memory.read(snapshot).negative_now
    if left >= 100_000:
        pause = dentry_drop.predict(snapshot, left)
        again = "" if pause is None else f": freeing them takes {report.span(pause.seconds)}"
        parts.append(f"{left:,.0f} negative dentries remain{again}.")
    return " ".join(parts)


def _evidence(snapshot: Snapshot, found: Sequence[Stall], worst: Stall, hurt: NodeHarm) -> list[Evidence]:
    low, high = max(0, worst.start - 5), min(snapshot.ticks, worst.end + 5)
    busy = worst.system_us / max(1.0, worst.duration_us)
    items = [
        Evidence(
            id="kernel_time",
            statement="Kernel CPU time above baseline, in the stall",
            value=f"{worst.system_us / 1e6:.2f} s in {worst.duration_us / 1e6:.2f} s",
            comparison=f"{busy:.1f} CPUs",
            numbers={"system_us": worst.system_us, "duration_us": worst.duration_us, "cpus": busy},
            series=kernel_memory.refs(snapshot, "host_system_us", low=low, high=high),
        )
    ]
    if (fall := worst.fall) is not None:
        items.append(
            Evidence(
                id="freed",
                statement="Dentries freed in the stall",
                value=f"{fall.freed:,.0f}"
                + (f", {fall.negative:,.0f} of them negative" if fall.negative_known else ""),
                comparison=f"{fall.freed / max(1.0, worst.duration_us) * 1e6:,.0f}/s",
                numbers=({"negative": fall.negative} if fall.negative_known else {})
                | {
                    "freed": fall.freed,
                    "each_us": fall.each_us,
                    "weight": fall.weight,
                    "duration_us": fall.duration_us,
                },
                series=kernel_memory.refs(snapshot, "dentries", "dentries_negative", low=low, high=high),
            )
        )
    items.append(_told_apart(snapshot, worst, low, high))
    if hurt.waited_us is not None:
        items.append(
            Evidence(
                id="waited",
                statement="Time that tasks waited for a CPU or for memory, above baseline, in the stalls",
                value=f"{hurt.waited_us / 1e6:.2f} s",
                comparison=f"of {spans(snapshot, found).sum() * snapshot.step_us / 1e6:.1f} s",
                numbers={"waited_us": hurt.waited_us},
                series=kernel_memory.refs(snapshot, "psi_cpu_some_us", "psi_memory_some_us", low=low, high=high),
            )
        )
    if hurt.answers is not None and (hurt.answers.late or hurt.answers.lost):
        of, chance = hurt.answers.late + hurt.answers.lost, float(spans(snapshot, found).mean())
        items.append(
            Evidence(
                id="slow_in_stalls",
                statement="Late or lost answers, in the stalls",
                value=f"{hurt.answers.suffered:,} of {of:,}",
                comparison=f"by chance: {say.percent(chance)}",
                numbers={"hits": float(hurt.answers.suffered), "of": float(of), "chance_ratio": chance},
            )
        )
    return items


def _told_apart(snapshot: Snapshot, worst: Stall, low: int, high: int) -> Evidence:
    """The marks of each of the things that could have done it."""

    def total(metric: str) -> float:
        return float(np.nansum(series(snapshot.node, metric, snapshot.ticks)[low:high]))

    marks = {
        "drops": total("vm_drop_slab"),
        "unmounts": max(float(len(worst.unmounts)), total("unmounts")),
        "direct_pages": total("vm_scan_direct_pages"),
        "kswapd_pages": total("vm_scan_kswapd_pages"),
        "slab_scanned": total("vm_slabs_scanned"),
        "thread_exits": total("thread_exits"),
    }
    names = {
        "drops": "manual drops", "unmounts": "unmounts", "direct_pages": "pages scanned by direct reclaim",
        "kswapd_pages": "pages scanned by kswapd", "slab_scanned": "slab objects scanned",
        "thread_exits": "threads ended",
    }  # fmt: skip
    return Evidence(
        id="trigger",
        statement="Trigger, from kernel counters",
        value=_what(worst),
        comparison=", ".join(f"{names[key]} {value:,.0f}" for key, value in marks.items()),
        numbers=marks,
        series=kernel_memory.refs(
            snapshot, "vm_drop_slab", "unmounts", "vm_slabs_scanned", "vm_scan_direct_pages", low=low, high=high
        ),
    )


def propose(snapshot: Snapshot, found: Found) -> list[Fix]:
    stalled, _ = stalls(snapshot)
    if not stalled:
        return []
    worst = max(stalled, key=lambda stall: stall.system_us)
    proposals = [*stall_fixes.propose(snapshot, worst), fixes.dentry_limit(snapshot, None)]
    if worst.trigger != "drop":
        proposals.append(fixes.drop_caches(snapshot))
    return [fix for fix in proposals if fix is not None]


CAUSE = Cause(
    id=ID,
    title="Freeing dentries stalls the node",
    summary="An unmount, a pod deletion, reclaim, or a manual cache drop frees millions of dentries at once.",
    mechanism="Unused dentries stay on lists until their file system is unmounted, memory runs short, or the caches "
    "are dropped manually. Then the kernel frees them one by one, half a microsecond each, and holds the list's lock "
    "for a batch of them. Millions take seconds of one CPU, during which tasks on that CPU and all that need the lock "
    "wait. Direct reclaim does this in the middle of an allocation. On old kernels with one lock for all lists, even "
    "exiting threads wait for it, because each removes its names under /proc.",
    needs=NEEDS,
    rivals=("memory/reclaim_stall", "kernel/negative_dentry_growth"),
    detect=detect,
    propose=propose,
    false_positives=("A manual drop at a quiet time: the title says that it was manual.",),
    references=(
        "https://docs.kernel.org/admin-guide/sysctl/vm.html#drop-caches",
        "https://lwn.net/Articles/550463/",
        "https://lwn.net/Articles/894098/",
    ),
    subjects=("node",),
    signs=Signs(SERIES, may_stall),
)
