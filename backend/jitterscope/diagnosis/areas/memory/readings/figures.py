"""Figures of memory before and after a fix: kills, closeness to the limit, and time that allocations wait."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.memory.readings import signals
from jitterscope.diagnosis.areas.memory.readings.signals import Memory
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.lanes import exposure
from jitterscope.diagnosis.core.refaults import read_refaults
from jitterscope.diagnosis.core.signals import has, series, spans
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

# Share of the limit from which on a kill is near.
NEAR = 0.8
# Ticks in which the counters of a killed container may still be read.
SOON = 10
_HOUR_US, _MINUTE_US = 3_600e6, 60e6


def _known(snapshot: Snapshot, memory: Memory) -> FloatArray:
    """1 in ticks in which usage was recorded, else NaN."""
    return np.where(np.isfinite(series(memory.owner, "memory_usage_bytes", snapshot.ticks)), 1.0, np.nan)


def oom_kills(snapshot: Snapshot) -> Amounts | None:
    memory = signals.read(snapshot)
    if memory is None or not has(memory.owner, "memory_oom_kills"):
        return None
    kills = _waiting_too(signals.killed(snapshot, memory.owner), memory)
    return Amounts(kills, exposure(snapshot, kills, _HOUR_US), kills)


def _waiting_too(kills: FloatArray, memory: Memory) -> FloatArray:
    """Adds 0 while a killed container waited for its next start: it has no cgroup then, so nothing can be killed."""
    kills = kills.copy()
    for start in memory.starts:
        before = np.flatnonzero(kills[:start] > 0)
        if len(before) and not np.isfinite(kills[before[-1] + SOON : start]).any():
            gap = slice(int(before[-1]) + 1, start)
            kills[gap] = np.nan_to_num(kills[gap])
    return kills


def near_limit(snapshot: Snapshot) -> Amounts | None:
    """Ticks in which unreclaimable memory is above 80 % of the limit. Without a limit: none."""
    memory = signals.read(snapshot)
    if memory is None or memory.owner.fact("memory.limit_bytes") is None:
        return None
    known = _known(snapshot, memory)
    return Amounts((memory.net >= NEAR * memory.limit) * known, known)


def memory_use(snapshot: Snapshot) -> Amounts | None:
    """Unreclaimable memory relative to the limit; None without one."""
    memory = signals.read(snapshot)
    if memory is None or not np.isfinite(memory.limit_bytes):
        return None
    known = _known(snapshot, memory)
    return Amounts(memory.net * known, np.where(np.isfinite(memory.limit), memory.limit, np.nan) * known)


def limit_hits(snapshot: Snapshot) -> Amounts | None:
    memory = signals.read(snapshot)
    if memory is None or not has(memory.owner, "memory_limit_hits"):
        return None
    hits = series(memory.owner, "memory_limit_hits", snapshot.ticks)
    return Amounts(hits, exposure(snapshot, hits, _MINUTE_US))


def refaults(snapshot: Snapshot) -> Amounts | None:
    """Counted once a second: each count covers the second before it."""
    found = read_refaults(snapshot)
    if found is None:
        return None
    known = np.isfinite(found.pages)
    return Amounts(found.pages, np.where(known, 1e6 / _MINUTE_US, np.nan))


def cpus(snapshot: Snapshot) -> FloatArray | None:
    """CPUs that the subject's programs use."""
    of_node = snapshot.subject.kind == "node"
    metric = "host_user_us" if of_node else "cpu_usage_us"
    if not has(snapshot.subject, metric):
        return None
    used = series(snapshot.subject, metric, snapshot.ticks)
    return used / spans(used) / snapshot.step_us
