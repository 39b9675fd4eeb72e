"""Fixes for stalls by thrown-away dentries, by what sets them off."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.kernel.fixes.dentries import dropped
from jitterscope.diagnosis.areas.kernel.readings import dentry_report as report
from jitterscope.diagnosis.areas.kernel.readings import kernel_memory, settings
from jitterscope.diagnosis.areas.kernel.readings.dentry_stalls import Stall
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, Unseen, changed
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import dentry_limits
from jitterscope.diagnosis.programs.versions import parse

_VM = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
_VERIFY = (
    "In a window of this length, dentries do not fall while the kernel is busy (dentries, host_system_us of the node)."
)


def propose(snapshot: Snapshot, stall: Stall) -> list[Fix | None]:
    return [
        drop_often(snapshot, stall),
        before_unmount(stall) if stall.trigger in ("unmount", "directory") else None,
        earlier_kswapd(snapshot) if stall.trigger == "direct_reclaim" else None,
        newer_kernel(snapshot),
    ]


def drop_often(snapshot: Snapshot, stall: Stall) -> Fix | None:
    """Small drops in quiet times in place of a large one in a bad moment."""
    if stall.fall is None:
        return None
    cost = dentry_drop.cost_of(snapshot)
    count, known = max(10_000.0, 100_000.0 / cost.each_us), stall.fall.negative_known
    rounded = round(count, -int(math.log10(count)))
    return Fix(
        id="find_maker",
        title="Find what creates them",
        summary=(f"{stall.fall.negative:,.0f} of the {stall.fall.freed:,.0f} dentries were negative. " if known else "")
        + f"This node frees up to about {rounded:,.0f} "
        f"in 0.1 s ({cost.each_us:.2f} µs each, estimated from {cost.basis}). While they grow, the "
        "program and the names are traced and reported as a separate finding.",
        verdict="reduces",
        precondition="Works only if the program that creates them can be changed, or its container gets a memory "
        "limit.",
        verify=_VERIFY,
        undo="Nothing to undo.",
        references=["https://lwn.net/Articles/814535/"],
    )


def before_unmount(stall: Stall) -> Fix:
    target = ""
    if stall.unmounts:
        target = max(stall.unmounts, key=lambda event: event.duration_us).attributes.get("target", "")
    where = f" of {report.shortened(target, 80)}" if target else ""
    return Fix(
        id="drop_before_unmount",
        title="Drop dentries before the pod is deleted, at a quiet time",
        summary=f"The unmount{where} has to free all dentries of that file system. After a drop there are none.",
        verdict="reduces",
        precondition="Works only if the time of the deletion is known: a rollout, or a drain of the node.",
        patches=[Patch(label="On the node, as root", language="shell", text="echo 2 > /proc/sys/vm/drop_caches")],
        caveats=[
            "The drop takes as long as the unmount did: it moves the pause, and it also drops the dentries of all "
            "other file systems."
        ],
        verify=_VERIFY,
        undo="Nothing to undo: the cache fills again.",
        references=[_VM + "#drop-caches"],
    )


def earlier_kswapd(snapshot: Snapshot) -> Fix | None:
    """Background reclaim begins earlier, so that tasks that allocate need not do it themselves."""
    now = settings.numbers(snapshot.node.fact("node.watermarks")).get("watermark_scale_factor", 10.0)
    version = parse(snapshot.node.fact("node.kernel"))
    if version is None or version < (4, 6):
        return None
    if now >= 100:
        return None
    memory = kernel_memory.memory_bytes(snapshot)
    free = f" ({memory * 0.01 / (1 << 20):,.0f} MiB here)" if math.isfinite(memory) else ""
    return Fix(
        id="watermark_scale_factor",
        title="vm.watermark_scale_factor=100",
        summary=f"Now {now:g} (ten-thousandths of memory). kswapd then starts 1 % of memory{free} before tasks must "
        "reclaim memory themselves. It frees the same dentries, in the background.",
        verdict="reduces",
        patches=[
            Patch(label="On the node", language="shell", text="sysctl -w vm.watermark_scale_factor=100"),
        ],
        caveats=["That much memory stays free. The kernel time stays the same, only not inside an allocation."],
        verify="vm_alloc_stalls stays 0 while dentries fall. " + _VERIFY,
        undo=f"sysctl -w vm.watermark_scale_factor={now:g}",
        references=[_VM + "#watermark-scale-factor"],
    )


def newer_kernel(snapshot: Snapshot) -> Fix | None:
    if dentry_limits.global_lru_lock(snapshot) is not True:
        return None
    return Fix(
        id="newer_kernel",
        title="Run Linux 3.12 or later",
        summary=f"{snapshot.node.fact('node.kernel')} has one lock for the unused dentries of all file systems. From "
        "3.12 on each file system has its own lists and locks for each NUMA node, from 4.0 on for each container.",
        verdict="reduces",
        precondition="Works only if the node can be restarted into another kernel.",
        caveats=["Freeing them takes the same kernel time, but other tasks wait less."],
        verify=_VERIFY,
        undo="Boot the previous kernel.",
        references=["https://lwn.net/Articles/550463/"],
    )


def _earlier(before: Facts, after: Facts) -> bool:
    old, new = (
        settings.numbers(facts.get("node.watermarks")).get("watermark_scale_factor") for facts in (before, after)
    )
    return new is not None and old is not None and new > old


FIXES = (
    FixKind(
        id="find_maker",
        title="Find the program that creates the negative dentries",
        precondition="The program can be changed, or its container gets a memory limit.",
        landing=Unseen("Finding a program changes nothing; declare the fix when the program is changed."),
        measures=("drop_ms_per_min", "negative_dentries"),
        lab="negative-dentries --variant unmount --apply find_maker",
    ),
    FixKind(
        id="drop_before_unmount",
        title="Drop dentries before the pod is deleted",
        precondition="The time of the deletion is known: a rollout, or a drain of the node.",
        landing=Seen("Dentries are dropped manually (vm.drop_caches 2 or 3).", (settings.LAST_DROP,), dropped),
        measures=("drop_ms_per_min", "negative_dentries"),
    ),
    FixKind(
        id="watermark_scale_factor",
        title="Raise vm.watermark_scale_factor",
        precondition="Linux 4.6 or later.",
        landing=Seen("vm.watermark_scale_factor of the node rises.", ("node.watermarks",), _earlier),
        measures=("memory_wait_ms_per_min", "slow_ratio"),
    ),
    FixKind(
        id="newer_kernel",
        title="Run Linux 3.12 or later",
        precondition="The node can be restarted into another kernel.",
        landing=Seen(
            "The node runs another kernel.",
            ("node.kernel", "node.dentry_limit", "node.watermarks"),
            lambda before, after: changed(before, after, "node.kernel") and "node.kernel" in after,
        ),
        measures=("drop_ms_per_min", "memory_wait_ms_per_min", "slow_ratio"),
    ),
)
