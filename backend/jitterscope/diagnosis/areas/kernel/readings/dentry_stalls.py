"""Times in which freeing dentries kept the kernel busy, and their triggers, distinguished by the marks they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.areas.kernel.readings.dentry_falls import Fall, falls
from jitterscope.diagnosis.areas.kernel.whatif import dentry_drop
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.signs import shows
from jitterscope.diagnosis.core.snapshot import Event, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, robust_baseline
from jitterscope.diagnosis.programs import dentry_limits

Trigger = Literal["drop", "unmount", "directory", "direct_reclaim", "kswapd", "thread_exit"]
# A stall is worth reporting from this many dentries on, and this much of a CPU for this long.
_LEAST_FREED, _LEAST_US, _LEAST_SHARE = 100_000.0, 100_000.0, 0.4
# An unmount is reported when it is over; for this many ticks it looks like a removed directory.
_TOLD_AFTER = 10
# Removing a file takes more than this (µs); freeing a cached name takes less, unless there is lock contention.
_UNLINK_US = 3.0
_MANY_EXITS, _MANY_UNUSED, _LEAST_EXIT_US = 500.0, 1_000_000.0, 200_000


@dataclass(frozen=True, slots=True)
class Stall:
    """Ticks [start, end) of a stall by `trigger`; `others` contributed. `fall` is None if no dentries were freed."""

    start: int
    end: int
    trigger: Trigger
    others: tuple[Trigger, ...]
    duration_us: float
    system_us: float
    fall: Fall | None
    unmounts: tuple[Event, ...]
    drops: tuple[Event, ...]
    exits: tuple[Event, ...]
    threads: float


@dataclass(frozen=True, slots=True)
class Passed:
    """A fall of dentries that was no stall, and why not. `missing`: the metric needed to decide."""

    fall: Fall
    why: str
    missing: str | None = None


SERIES = ("dentries", "dentries_unused", "dentries_negative")


def may_stall(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if no dentries were freed, and no old kernel has contention for its one LRU lock."""
    locked = dentry_limits.global_lru_lock(snapshot) is True
    return bool(falls(snapshot)) or (locked and shows((snapshot.node,), "dentries_unused", least=_MANY_UNUSED - 1))


@reading
def stalls(snapshot: Snapshot) -> tuple[tuple[Stall, ...], tuple[Passed, ...]]:
    """(stalls, falls that were none), both in time order."""
    each_us = dentry_drop.cost_of(snapshot).each_us
    found: list[Stall] = []
    passed: list[Passed] = []
    for fall in falls(snapshot):
        judged = _judge(snapshot, fall, each_us)
        if isinstance(judged, Stall):
            found.append(judged)
        else:
            passed.append(judged)
    found += _exits(snapshot, found)
    return tuple(sorted(found, key=lambda stall: stall.start)), tuple(passed)


def _judge(snapshot: Snapshot, fall: Fall, each_us: float) -> Stall | Passed:
    if fall.freed < _LEAST_FREED or fall.duration_us < _LEAST_US:
        return Passed(fall, f"{fall.freed:,.0f} in {fall.duration_us / 1e6:.1f} s is too little for a stall")
    if not np.isfinite(fall.system_us):
        return Passed(fall, "kernel CPU time was not recorded meanwhile", "host_system_us")
    if not fall.system_us >= _LEAST_SHARE * fall.duration_us:
        return Passed(fall, f"the kernel was not busy with it ({fall.system_us / 1e6:.1f} s above the usual)")
    trigger: Trigger
    if fall.how == "removal":
        if fall.end > snapshot.ticks - _TOLD_AFTER:
            return Passed(fall, "an unmount might not have been reported yet")
        # There was no drop or reclaim, and the node's own mounts stayed: files were removed one by one, or a directory
        # full of names at once, or a container unmounted something of its own.
        per = fall.system_us / fall.weight
        if not fall.negative_known and per <= _UNLINK_US:
            return Passed(fall, "how many of them were negative was not counted", "dentries_negative")
        if per > _UNLINK_US or fall.negative < 0.5 * fall.freed:
            return Passed(fall, f"files were removed, {per:.1f} µs each")
        trigger = "directory"
    else:
        trigger = fall.how
    if trigger in ("direct_reclaim", "kswapd") and fall.weight * each_us < 0.3 * fall.system_us:
        share = fall.weight * each_us / fall.system_us
        return Passed(fall, f"reclaim was busy with pages: dentries explain {100 * share:.0f} % of its time")
    others: list[Trigger] = []
    if trigger == "direct_reclaim" and fall.kswapd_pages > 0:
        others.append("kswapd")
    if fall.thread_exits >= _MANY_EXITS:
        others.append("thread_exit")
    if trigger != "unmount" and fall.unmounts:
        others.append("unmount")
    return Stall(
        fall.start, fall.end, trigger, tuple(others), fall.duration_us, fall.system_us, fall, fall.unmounts, fall.drops,
        fall.exits, fall.thread_exits,
    )  # fmt: skip


def _exits(snapshot: Snapshot, known: list[Stall]) -> list[Stall]:
    """Mass exits that contend for the single lock of an old kernel while millions of names are cached."""
    if dentry_limits.global_lru_lock(snapshot) is not True:
        return []
    unused = kernel_memory.last(kernel_memory.read(snapshot).unused)
    exits = np.nan_to_num(series(snapshot.node, "thread_exits", snapshot.ticks))
    busy = kernel_memory.system_us(snapshot.node, snapshot.ticks)
    usual = robust_baseline(busy)
    if not unused >= _MANY_UNUSED or usual.n < 20:
        return []
    raised = np.nan_to_num(busy) > usual.median + max(5 * usual.spread, 0.5 * snapshot.step_us)
    found = []
    for start, end in _runs(raised):
        threads = float(exits[max(0, start - 5) : end].sum())
        taken = any(stall.start < end and start < stall.end for stall in known)
        spent = float(np.nansum(busy[start:end] - usual.median))
        duration = (end - start) * snapshot.step_us
        if threads < _MANY_EXITS or taken or duration < _LEAST_EXIT_US:
            continue
        low, high = snapshot.start_us + (start - 10) * snapshot.step_us, snapshot.start_us + end * snapshot.step_us
        events = tuple(
            event
            for view in (snapshot.node, *snapshot.cgroups)
            for event in view.events
            if event.kind == "process.mass_exit" and event.start_us < high and event.end_us >= low
        )
        found.append(Stall(start, end, "thread_exit", (), duration, spent, None, (), (), events, threads))
    return found


def _runs(mask: BoolArray) -> list[tuple[int, int]]:
    """[start, end) of each run of true ticks; gaps of two ticks are bridged."""
    hot = np.flatnonzero(mask)
    if not len(hot):
        return []
    groups = np.split(hot, np.flatnonzero(np.diff(hot) > 3) + 1)
    return [(int(group[0]), int(group[-1]) + 1) for group in groups]


def spans(snapshot: Snapshot, found: Sequence[Stall]) -> BoolArray:
    mask = np.zeros(snapshot.ticks, dtype=np.bool_)
    for stall in found:
        mask[stall.start : stall.end] = True
    return mask
