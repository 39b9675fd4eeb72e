"""Figures of a node before and after a fix: cached names, failed lookups, time spent freeing."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.areas.kernel.readings.dentry_stalls import stalls
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.freezes import METRIC, freezes
from jitterscope.diagnosis.core.lanes import exposure
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

_MINUTE_US, _SECOND_US = 60e6, 1e6


def drop_time(snapshot: Snapshot) -> Amounts | None:
    """Kernel time (ms) of the stalls by freed dentries, each in the tick in which it began."""
    if kernel_memory.missing(snapshot, ("dentries", "host_system_us")):
        return None
    busy = series(snapshot.node, "host_system_us", snapshot.ticks)
    part, events = (np.where(np.isfinite(busy), 0.0, np.nan) for _ in range(2))
    for stall in stalls(snapshot)[0]:
        known = stall.start + np.flatnonzero(np.isfinite(part[stall.start :]))
        if len(known):
            part[known[0]] += stall.system_us / 1000
            events[known[0]] += 1
    return Amounts(part, exposure(snapshot, busy, _MINUTE_US), events)


def frozen_time(snapshot: Snapshot) -> Amounts | None:
    """Length (ms) of the freezes of the node, each in the tick that was read when it was over."""
    found = freezes(snapshot)
    if found is None:
        return None
    known = series(snapshot.node, METRIC, snapshot.ticks)
    part = np.where(np.isfinite(known), 0.0, np.nan)
    events = part.copy()
    for one in found:
        part[one.tick], events[one.tick] = one.length_us / 1000, 1.0
    return Amounts(part, exposure(snapshot, known, _MINUTE_US), events)


def made_dentries(snapshot: Snapshot) -> Amounts | None:
    """Negative dentries gained; those that appear and vanish within a tick are not seen."""
    negative = kernel_memory.read(snapshot).negative
    known = np.flatnonzero(np.isfinite(negative))
    if len(known) < 2:
        return None
    gained = np.full(snapshot.ticks, np.nan)
    gained[known[1:]] = np.maximum(0.0, np.diff(negative[known]))
    return Amounts(gained, exposure(snapshot, gained, _SECOND_US))


def made_without(snapshot: Snapshot, gone_ratio: float) -> Interval | None:
    """Negative dentries that would be created per second without this share of the failed lookups.

    Up to twice as many: the other lookups come and go.
    """
    made = made_dentries(snapshot)
    if made is None or not (seconds := float(np.nansum(made.whole))):
        return None
    left = max(0.0, 1.0 - gone_ratio) * float(np.nansum(made.part)) / seconds
    return Interval(low=0.5 * left if gone_ratio == 0 else 0.0, high=2.0 * left, expected=left)


def negative_dentries(snapshot: Snapshot) -> Amounts | None:
    negative = kernel_memory.read(snapshot).negative
    if not np.isfinite(negative).any():
        return None
    return Amounts(negative, np.where(np.isfinite(negative), 1.0, np.nan))


def failed_lookups(snapshot: Snapshot) -> Amounts | None:
    if not has(snapshot.node, "lookup_failures"):
        return None
    failed = series(snapshot.node, "lookup_failures", snapshot.ticks)
    return Amounts(failed, exposure(snapshot, failed, _SECOND_US))


def thread_exits(snapshot: Snapshot) -> FloatArray | None:
    """Threads that ended, per second."""
    if not has(snapshot.node, "thread_exits"):
        return None
    return series(snapshot.node, "thread_exits", snapshot.ticks) * (_SECOND_US / snapshot.step_us)
