"""Tasks that wait while memory is reclaimed for them: on a node below its watermarks, or in a cgroup at its limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.memory.readings.signals import Memory, filled
from jitterscope.diagnosis.areas.memory.readings.signals import read as read_memory
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

# A tick counts if tasks waited for memory for more than this share of it while they reclaimed.
SHARE = 0.05
LEAST_TICKS, LEAST_S = 3, 0.3
# A cgroup reclaims for itself if its usage is this close to its limit.
NEAR = 0.9
# From this many names on, and this many per page scanned, names and inodes are reclaimed rather than pages.
LEAST_OBJECTS, SHARE_OF_PAGES = 100_000, 0.25


@dataclass(frozen=True, slots=True)
class Reclaim:
    """Per tick: `waits_us` in which some task waited for memory, `direct` reclaims begun by tasks that allocate.

    `pages` were scanned for it, `slabs` objects of the node's slabs. `hot` ticks are those that count; `watermark` says
    what made a cgroup reclaim: its memory.high or its limit.
    """

    view: ResourceView
    where: Literal["node", "cgroup"]
    watermark: Literal["node", "high", "limit"]
    waits_us: FloatArray
    direct: FloatArray
    pages: FloatArray
    slabs: FloatArray
    hot: BoolArray
    memory: Memory | None

    @property
    def waited_s(self) -> float:
        return float(self.waits_us[self.hot].sum()) / 1e6

    def ratio(self, step_us: int) -> float:
        """The share of the hot ticks' time in which some task waited."""
        return float(self.waits_us[self.hot].mean()) / step_us if self.hot.any() else 0.0


def may_wait(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if tasks hardly waited for memory."""
    waits = snapshot.subject.series.get("psi_memory_some_us", np.zeros(1))
    return int((waits >= SHARE * snapshot.step_us).sum()) >= LEAST_TICKS


@reading
def read(snapshot: Snapshot) -> Reclaim | str:
    """The reclaim of the subject; otherwise the name of what is missing."""
    return _of_node(snapshot) if snapshot.subject.kind == "node" else _of_cgroup(snapshot)


def _of_node(snapshot: Snapshot) -> Reclaim | str:
    node, n = snapshot.node, snapshot.ticks
    for name in ("psi_memory_some_us", "vm_alloc_stalls"):
        if not has(node, name):
            return name
    waits, direct = (np.nan_to_num(series(node, name, n)) for name in ("psi_memory_some_us", "vm_alloc_stalls"))
    pages = sum(np.nan_to_num(series(node, name, n)) for name in ("vm_scan_direct_pages", "vm_scan_kswapd_pages"))
    hot = (waits >= SHARE * snapshot.step_us) & dilate(direct > 0, 1, 1)
    slabs = np.nan_to_num(series(node, "vm_slabs_scanned", n))
    return Reclaim(node, "node", "node", waits, direct, np.asarray(pages), slabs, hot, None)


def _of_cgroup(snapshot: Snapshot) -> Reclaim | str:
    subject, n = snapshot.subject, snapshot.ticks
    if not has(subject, "psi_memory_some_us"):
        return "psi_memory_some_us"
    memory = read_memory(snapshot)
    if memory is None:
        return "memory_usage_bytes"
    owner = memory.owner
    waits = np.nan_to_num(series(subject, "psi_memory_some_us", n))
    counted = ("memory_limit_hits", "memory_high_events", "memory_reclaim_scanned_pages")
    if waits.sum() >= LEAST_S * 1e6 and not any(has(owner, name) for name in counted):
        return counted[0]  # tasks waited, and the reason was not counted
    high, hits = (np.nan_to_num(series(owner, name, n)) for name in ("memory_high_events", "memory_limit_hits"))
    pages = np.nan_to_num(series(owner, "memory_reclaim_scanned_pages", n))
    hot = (waits >= SHARE * snapshot.step_us) & dilate((high + hits + pages) > 0, 1, 1)
    slabs = np.zeros(n)
    watermark: Literal["high", "limit"] = "high" if high[hot].sum() > hits[hot].sum() else "limit"
    return Reclaim(subject, "cgroup", watermark, waits, high + hits, pages, slabs, hot, memory)


def at_own_limit(found: Reclaim) -> bool:
    """Whether the cgroup reclaims because of its own setting rather than the node's."""
    memory = found.memory
    if memory is None or found.watermark == "high":
        return True
    if not found.hot.any():
        return False
    return bool(np.median((memory.usage / memory.limit)[found.hot]) >= NEAR)


def names_freed(snapshot: Snapshot, found: Reclaim) -> float | None:
    """Dentries freed while tasks waited, if they and not pages take the time; else None."""
    near = dilate(found.hot, 3, 3)
    slabs, pages = float(found.slabs[near].sum()), float(found.pages[near].sum())
    if not has(snapshot.node, "dentries"):
        return slabs if slabs >= LEAST_OBJECTS and slabs >= 1 / SHARE_OF_PAGES * pages else None
    known = filled(series(snapshot.node, "dentries", snapshot.ticks))
    freed = float(np.clip(-np.diff(known, prepend=known[0]), 0.0, None)[near].sum())
    return freed if freed >= LEAST_OBJECTS and freed >= SHARE_OF_PAGES * pages else None


def fills_per_s(snapshot: Snapshot, found: Reclaim) -> float | None:
    """How fast free memory shrank before tasks began to wait: bytes/s in the fastest second of ten; None: unknown."""
    node = snapshot.node
    if not has(node, "memory_free_bytes") or not found.hot.any():
        return None
    first = int(np.flatnonzero(found.hot)[0])
    free = filled(series(node, "memory_free_bytes", snapshot.ticks))[max(0, first - 100) : first + 1]
    second = int(1e6 / snapshot.step_us)
    if len(free) <= second:
        return None
    return max(0.0, float((free[:-second] - free[second:]).max()))


def fastest_growing(snapshot: Snapshot, found: Reclaim) -> tuple[ResourceView, float] | None:
    """The cgroup of the node's snapshot whose memory rose most until the end of the stalls, and by how much (bytes)."""
    if not found.hot.any():
        return None
    last = int(np.flatnonzero(found.hot)[-1]) + 1
    best: tuple[ResourceView, float] | None = None
    for view in snapshot.cgroups:
        if not has(view, "memory_usage_bytes"):
            continue
        usage = filled(series(view, "memory_usage_bytes", snapshot.ticks))[:last]
        rise = float(usage[-1] - usage.min())
        if best is None or rise > best[1]:
            best = (view, rise)
    return best if best is not None and best[1] >= 64 << 20 else None
