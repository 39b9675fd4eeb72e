"""Fixes for reclaim that makes tasks wait: begin earlier, keep more free, hold back who allocates, or allow more."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np

from jitterscope.diagnosis.areas.memory.fixes import patches as patches_memory
from jitterscope.diagnosis.areas.memory.readings import reclaim as memory_reclaim
from jitterscope.diagnosis.areas.memory.readings import settings
from jitterscope.diagnosis.areas.memory.readings.reclaim import Reclaim
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.signals import number, series
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import golang

SYSCTL = "https://docs.kernel.org/admin-guide/sysctl/vm.html"
CGROUP = "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory"
COMMIT = "https://git.kernel.org/torvalds/c/795ae7a0de6b834a0cc202aa55c190ef81496665"
# vm.watermark_scale_factor came with Linux 4.6; it counts in ten-thousandths of a node's memory, 1000 at most.
SCALE_SINCE, SCALE_MOST, SCALE_DEFAULT = (4, 6), 1000, 10
# For how long kswapd gets a start on who allocates.
HEAD_START_S = 1.0
# Above this share of memory the reserve itself is what is missing.
RESERVE_MOST = 0.05
# memory.high leaves this much room above what cannot be reclaimed, and must take back a tenth to change anything.
ANON_ROOM, LEAST_BACK = 1.2, 0.9
VERIFY = "Memory pressure (/proc/pressure/memory) and allocstall in /proc/vmstat do not rise under the same load."


def propose(snapshot: Snapshot, found: Reclaim) -> list[Fix]:
    if found.where == "node":
        fixes = [_scale_factor(snapshot, found), _min_free(snapshot), _hold_back(snapshot, found)]
        return [fix for fix in fixes if fix is not None]
    return _of_cgroup(snapshot, found)


def _watermarks(snapshot: Snapshot) -> dict[str, object]:
    try:
        read = json.loads(snapshot.node.fact("node.watermarks") or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _known(marks: dict[str, object], name: str) -> int | None:
    value = marks.get(name)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _file(name: str) -> str:
    """Each setting has its own file: a fix must not undo another at the next boot."""
    return f"/etc/sysctl.d/60-jitterscope-{name.removeprefix('vm.')}.conf"


def _sysctl(name: str, value: int) -> Patch:
    text = f"sysctl -w {name}={value}\necho '{name} = {value}' > {_file(name)}"
    return Patch(label="On the node, as root, immediate and after a restart", language="shell", text=text)


def _scale_factor(snapshot: Snapshot, found: Reclaim) -> Fix | None:
    """A gap between the low and the min watermark that lasts for a second of the allocations that were seen."""
    marks = _watermarks(snapshot)
    now, memory = _known(marks, "watermark_scale_factor"), number(snapshot.node.fact("node.memory_bytes"))
    kernel = golang.version(snapshot.node.fact("node.kernel"))
    name = "vm.watermark_scale_factor"
    base = {
        "id": "watermark_scale_factor",
        "verify": VERIFY,
        "undo": f"sysctl -w {name}={now if now is not None else SCALE_DEFAULT}; rm -f {_file(name)}",
        "references": [SYSCTL + "#watermark-scale-factor", COMMIT],
    }
    if kernel and kernel[:2] < SCALE_SINCE:
        return Fix(**base, title=name, verdict="cannot_help", summary="Cannot help: Linux has it from 4.6 on.")
    before = now if now is not None else SCALE_DEFAULT
    fills = memory_reclaim.fills_per_s(snapshot, found)
    wanted, why = max(10 * before, 100), "Ten times its value, for a start: how fast free memory fell is not known."
    if fills is not None and memory:
        wanted = max(2 * before, math.ceil(fills * HEAD_START_S / memory * 10_000))
        why = (
            f"Free memory fell by up to {say.mebibytes(fills)}/s. With {min(wanted, SCALE_MOST)}, kswapd starts "
            f"{say.mebibytes(min(wanted, SCALE_MOST) / 10_000 * memory)} before tasks must reclaim memory themselves."
        )
    if before >= SCALE_MOST:
        return None
    wanted = min(wanted, SCALE_MOST)
    return Fix(
        **base,
        title=f"{name} {wanted} instead of {before}",
        summary=why,
        verdict="reduces",
        precondition=None if kernel else "Requires Linux 4.6 or later.",
        patches=[_sysctl(name, wanted)],
        caveats=["That much more memory stays free instead of serving as page cache."],
    )


def _min_free(snapshot: Snapshot) -> Fix | None:
    """Twice the reserve, while that is a small part of memory."""
    now, memory = _known(_watermarks(snapshot), "min_free_kbytes"), number(snapshot.node.fact("node.memory_bytes"))
    if now is None or not memory:
        return None
    base = {
        "id": "min_free_kbytes",
        "verify": VERIFY,
        "undo": f"sysctl -w vm.min_free_kbytes={now}; rm -f {_file('vm.min_free_kbytes')}",
        "references": [SYSCTL + "#min-free-kbytes"],
    }
    wanted = 2 * now
    if wanted * 1024 > RESERVE_MOST * memory:
        return Fix(
            **base, title="vm.min_free_kbytes", verdict="cannot_help",
            summary=f"Cannot help: the reserve is {now / 1024:,.0f} MiB already. A larger one would cause OOM kills.",
        )  # fmt: skip
    return Fix(
        **base,
        title=f"vm.min_free_kbytes {wanted} instead of {now}",
        summary="All watermarks rise with it: a larger reserve for allocations that cannot wait (network, interrupts). "
        "Other allocations still wait at the min watermark, so raise watermark_scale_factor first.",
        verdict="reduces",
        patches=[_sysctl("vm.min_free_kbytes", wanted)],
        caveats=["This memory can never be used by programs; too much of it makes OOM kills happen earlier."],
    )


def _hold_back(snapshot: Snapshot, found: Reclaim) -> Fix | None:
    """memory.high for the cgroup that grew: it then reclaims for itself, and waits in place of the others."""
    grown = memory_reclaim.fastest_growing(snapshot, found)
    if grown is None:
        return None
    view, rise = grown
    name = view.fact("workload.container") or view.name
    usage, anon = (_most(view, metric, snapshot.ticks) for metric in ("memory_usage_bytes", "memory_anon_bytes"))
    base = {
        "id": "memory_high",
        "verify": VERIFY + " memory.events of that cgroup counts `high`.",
        "references": [CGROUP],
    }
    high = max(0.8 * usage, ANON_ROOM * anon) if math.isfinite(anon) else 0.8 * usage
    if high > LEAST_BACK * usage:
        return Fix(
            **base, title=f"memory.high for {name}", verdict="cannot_help", undo="Nothing to undo.",
            summary=f"Cannot help: {say.mebibytes(anon)} of the {say.mebibytes(usage)} of {name} is anonymous memory, "
            "which cannot be reclaimed without swap. A lower memory.high would slow it down for good.",
        )  # fmt: skip
    texts = patches_memory.memory_high(snapshot, view, high)
    if texts is None:
        return Fix(
            **base, title=f"memory.high for {name}", verdict="cannot_help", undo="Nothing to undo.",
            summary=f"Cannot help on this node: cgroup v1 has no memory.high. {name} grew by {say.mebibytes(rise)} and "
            "could otherwise be limited.",
        )  # fmt: skip
    patches, undo = texts
    return Fix(
        **base,
        title=f"memory.high {say.mebibytes(high)} for {name}",
        summary=f"{name} grew by {say.mebibytes(rise)}. Above memory.high it reclaims its own memory, and waits "
        "instead of all other tasks on the node.",
        verdict="reduces" if math.isfinite(anon) else "unknown",
        precondition=None
        if math.isfinite(anon)
        else f"Works only if its anonymous memory stays below {say.mebibytes(high / ANON_ROOM)}, which is not "
        "recorded: more than that would be slowed down for good.",
        patches=patches if math.isfinite(anon) else [],
        caveats=[
            f"{name} becomes slower as soon as it needs more.",
            "Kubernetes itself sets it only with MemoryQoS.",
        ],
        undo=undo,
    )


def _most(view: ResourceView, metric: str, ticks: int) -> float:
    """The largest value; NaN if it was not recorded."""
    values = series(view, metric, ticks)
    return float(np.nanmax(values)) if np.isfinite(values).any() else math.nan


def _of_cgroup(snapshot: Snapshot, found: Reclaim) -> list[Fix]:
    memory = found.memory
    if memory is None:
        return []
    used = float(memory.usage[found.hot].max())
    raised = found.watermark == "high"
    fixes: list[Fix] = []
    if raised and (texts := patches_memory.memory_high(snapshot, memory.owner, 1.5 * used)) is not None:
        patches, undo = texts
        fixes.append(
            Fix(
                id="memory_high",
                title=f"Raise memory.high to {say.mebibytes(1.5 * used)}",
                summary="It is memory.high, not the limit, that makes it reclaim and wait.",
                verdict="reduces",
                patches=patches,
                caveats=["The node must be able to spare it."],
                verify=VERIFY,
                undo=undo,
                references=[CGROUP],
            )
        )
    if math.isfinite(memory.limit_bytes):
        fixes.append(_raise(snapshot, memory.owner, memory.limit_bytes, raised=raised))
    if not raised:
        fixes.append(
            Fix(
                id="memory_high",
                title="Set memory.high below the limit",
                summary="Cannot help: it would make the same tasks reclaim a little earlier. A cgroup has no kswapd "
                "that reclaims in the background.",
                verdict="cannot_help",
                verify=VERIFY,
                undo="Nothing to undo.",
                references=[CGROUP],
            )
        )
    return fixes


def _raise(snapshot: Snapshot, owner: ResourceView, limit: float, *, raised: bool) -> Fix:
    """Half as much again, as far as the node has it. `raised`: memory.high and not the limit is what it waits at."""
    wanted = patches_memory.within_node(snapshot, 1.5 * limit, limit)
    if wanted is None:
        return patches_memory.beyond_node(snapshot, "raise_memory_limit", limit, VERIFY, [CGROUP])
    patches, undo = patches_memory.memory_limit(snapshot, owner, wanted, limit)
    return Fix(
        id="raise_memory_limit",
        title=f"Raise the memory limit from {say.mebibytes(limit)} to {patches_memory.mebibytes(wanted)} MiB",
        summary="Files that are read again and again then stay in memory. How much they need cannot be measured at the "
        "limit, so start with "
        + ("half as much again." if wanted == 1.5 * limit else f"what there is. {patches_memory.capped(snapshot)}"),
        verdict="unknown" if raised else "reduces",
        patches=patches,
        caveats=[
            "A program that reads more than fits rereads it under any limit.",
            *patches_memory.caveats(snapshot, wanted, limit),
        ],
        verify=VERIFY,
        undo=undo,
        references=[CGROUP],
    )


def _higher(name: str) -> Callable[[Facts, Facts], bool]:
    def lands_as(before: Facts, after: Facts) -> bool:
        old, new = settings.watermark(before, name), settings.watermark(after, name)
        return old is not None and new is not None and new > old

    return lands_as


_WAITS = ("memory_wait_ms_per_min", "slow_ratio")
FIXES = (
    FixKind(
        id="watermark_scale_factor",
        title="Raise vm.watermark_scale_factor",
        precondition="Linux 4.6 or later.",
        landing=Seen(
            "vm.watermark_scale_factor of the node rises.", ("node.watermarks",), _higher("watermark_scale_factor")
        ),
        measures=_WAITS,
    ),
    FixKind(
        id="min_free_kbytes",
        title="Raise vm.min_free_kbytes",
        precondition="The reserve stays below a twentieth of memory.",
        landing=Seen("vm.min_free_kbytes of the node rises.", ("node.watermarks",), _higher("min_free_kbytes")),
        measures=_WAITS,
    ),
)
