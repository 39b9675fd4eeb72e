"""Finds the times in which the kernel freed dentries, how long each took, and the trigger.

Dropping, unmounting, and reclaim free dentries ten times faster than programs remove files, and each leaves a mark:
drop_slab, an unmount, pages scanned. A fall without a mark is due to removed files or directories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.kernel.readings import kernel_memory
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import number, series
from jitterscope.diagnosis.core.snapshot import Event, FloatArray, Snapshot

How = Literal["drop", "unmount", "direct_reclaim", "kswapd", "removal"]
# Cost of freeing one relative to a negative dentry (docs/whatif.md): a drop of 1.1 M names of real files with 0.97 M
# inodes took 3.6 s, one of 2 M negative dentries took 1.3 s.
POSITIVE_WEIGHT, INODE_WEIGHT = 1.5, 5.0
# Share of the names of real files whose inode is freed with them: others are used elsewhere or hold pages. Two drops
# with 64,000 and 257,000 such names took as long as with none and 0.4. Slabs do not show it: they shrink by whole free
# pages.
INODES_GONE = 0.3
_LEAST_FREED = 30_000
_GAP = 6


@dataclass(frozen=True, slots=True)
class Fall:
    """Ticks [start, end) in which `freed` dentries were freed, `negative` of them negative.

    `duration_us`: how long it took, with partial first and last ticks. `system_us`: kernel time of all CPUs above the
    baseline; NaN if it was not counted. `negative` is 0 if they were not counted (`negative_known`). `scanned` are slab
    objects; `direct_pages` and `kswapd_pages` are the pages that reclaim scanned.
    """

    start: int
    end: int
    freed: float
    negative: float
    duration_us: float
    system_us: float
    scanned: float
    direct_pages: float
    kswapd_pages: float
    stalls: float
    thread_exits: float
    how: How
    unmounts: tuple[Event, ...] = ()
    drops: tuple[Event, ...] = ()
    exits: tuple[Event, ...] = ()
    negative_known: bool = True

    @property
    def weight(self) -> float:
        """The work of the fall, in negative dentries."""
        positive = max(0.0, self.freed - self.negative)
        return self.negative + (POSITIVE_WEIGHT + INODES_GONE * INODE_WEIGHT) * positive

    @property
    def each_us(self) -> float:
        """Time to free one negative dentry here."""
        return self.duration_us / max(1.0, self.weight)


@reading
def falls(snapshot: Snapshot) -> tuple[Fall, ...]:
    """The falls in time order; empty without dentry counts."""
    dentries = kernel_memory.read(snapshot)
    known = np.flatnonzero(np.isfinite(dentries.total))
    if len(known) < 3:
        return ()
    steps = -np.diff(dentries.total[known])
    width = np.diff(known)
    least = max(2_000.0, 0.0005 * float(np.nanmax(dentries.total)))
    hot = np.flatnonzero(steps / width >= least)
    if not len(hot):
        return ()
    found = []
    busy = np.zeros(snapshot.ticks, dtype=np.bool_)
    groups = np.split(hot, np.flatnonzero(np.diff(known[hot + 1]) > _GAP) + 1)
    for group in groups:
        busy[known[group[0]] : known[group[-1] + 1] + 2] = True
    system = kernel_memory.system_us(snapshot.node, snapshot.ticks)
    usual = kernel_memory.calm_us(system[~busy])
    for group in groups:
        part = slice(int(group[0]), int(group[-1]) + 1)
        freed = float(steps[part].sum())
        if freed < _LEAST_FREED:
            continue
        start, end = int(known[part.start]) + 1, int(known[part.stop]) + 1
        found.append(
            _fall(snapshot, start, end, freed, _duration(steps[part], width[part]) * snapshot.step_us, system, usual)
        )
    return tuple(found)


def _duration(steps: FloatArray, width: FloatArray) -> float:
    """Ticks that it took: the first and last step count in proportion to those between them."""
    rates = steps / width
    if len(rates) < 3:
        return float(max(0.5, width.sum() - 0.5))
    typical = float(np.median(rates[1:-1]))
    edges = [float(width[i]) * float(np.clip(rates[i] / max(typical, 1.0), 0.0, 1.0)) for i in (0, -1)]
    return float(width[1:-1].sum()) + sum(edges)


def _fall(
    snapshot: Snapshot, start: int, end: int, freed: float, took_us: float, system: FloatArray, usual: float
) -> Fall:
    node, n = snapshot.node, snapshot.ticks
    dentries = kernel_memory.read(snapshot)

    def total(metric: str, after: int = 2) -> float:
        return float(np.nansum(series(node, metric, n)[start : end + after]))

    spent = system[start:end]
    spent = spent[np.isfinite(spent)]
    negative = _fallen(dentries.negative, start, end)
    direct, kswapd, scanned = total("vm_scan_direct_pages"), total("vm_scan_kswapd_pages"), total("vm_slabs_scanned")
    low_us = snapshot.start_us + (start - 2) * snapshot.step_us
    high_us = snapshot.start_us + (end + 2) * snapshot.step_us
    near = [
        event
        for view in (node, *snapshot.cgroups)
        for event in view.events
        if event.start_us < high_us and event.end_us >= low_us - (1_000_000 if event.kind == "process.mass_exit" else 0)
    ]
    unmounts, drops, exits = (
        tuple(event for event in near if event.kind == kind)
        for kind in ("fs.unmount", "fs.drop_caches", "process.mass_exit")
    )
    # drop_slab is counted when it is over, so possibly in the tick after.
    how: How = "removal"
    if total("vm_drop_slab") > 0:
        how = "drop"
    elif scanned >= 0.2 * freed and (direct > 0 or kswapd > 0):
        how = "direct_reclaim" if direct >= 0.1 * (direct + kswapd) else "kswapd"
    elif any(_threw(event, freed, took_us) for event in unmounts) or (not unmounts and total("unmounts") > 0):
        # Every container adds and removes mounts: one that freed dentries reports it, or single mounts were not
        # reported.
        how = "unmount"
    return Fall(
        start, end, freed, min(freed, negative), took_us,
        float((spent - usual).sum()) if len(spent) and np.isfinite(usual) else float("nan"),
        scanned, direct, kswapd, total("vm_alloc_stalls"), total("thread_exits"), how,
        unmounts if how == "unmount" else (), drops, exits, kernel_memory.counts_negative(snapshot),
    )  # fmt: skip


def _threw(event: Event, freed: float, took_us: float) -> bool:
    """Whether this unmount freed the dentries."""
    dentries = number(event.attributes.get("dentries")) or 0.0
    return dentries >= 0.2 * freed or event.duration_us >= 0.3 * took_us


def _fallen(values: FloatArray, start: int, end: int) -> float:
    """The drop from right before [start, end) to its lowest value inside."""
    before, after = values[max(0, start - 3) : start], values[start:end]
    before, after = before[np.isfinite(before)], after[np.isfinite(after)]
    return max(0.0, float(before[-1] - after.min())) if len(before) and len(after) else 0.0
