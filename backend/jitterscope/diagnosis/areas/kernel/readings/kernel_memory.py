"""Reads dentries, memory, and kernel time of a node from a snapshot.

A dentry is a cached name; a negative one caches that a name does not exist. Negative ones are counted since Linux 5.0
(and by RHEL 7.8 and 8) in the fifth field of /proc/sys/fs/dentry-state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import missing_data, references
from jitterscope.diagnosis.core.finding import NotEnoughData, SeriesRef
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, number, series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.programs.versions import parse

# struct dentry on 64-bit kernels without debugging; names longer than 40 bytes (32 before 5.x) take a second object.
DENTRY_BYTES = 192
# RHEL counts them from 7.8 and 8 on.
_COUNTED_SINCE = (5, 0)


@dataclass(frozen=True, slots=True)
class Dentries:
    """Counts of a node, one value per tick, NaN if missing. `slab_bytes`: memory of the dentry slab."""

    total: FloatArray
    unused: FloatArray
    negative: FloatArray
    slab_bytes: FloatArray
    inode_bytes: FloatArray
    step_us: int

    @property
    def negative_now(self) -> float:
        return last(self.negative)

    @property
    def positive_unused_now(self) -> float:
        """Names of real files that no process has open; NaN if unknown."""
        return max(0.0, last(self.unused) - last(self.negative))


@reading
def read(snapshot: Snapshot) -> Dentries:
    names = ("dentries", "dentries_unused", "dentries_negative", "slab_dentry_bytes", "slab_inode_bytes")
    total, unused, negative, slab, inode = (series(snapshot.node, name, snapshot.ticks) for name in names)
    return Dentries(total, unused, negative, slab, inode, snapshot.step_us)


def system_us(view: ResourceView, ticks: int) -> FloatArray:
    """Kernel time of all CPUs in each tick, including softirqs if they were counted: freeing ends in them."""
    system, interrupts = series(view, "host_system_us", ticks), series(view, "host_irq_us", ticks)
    return np.asarray(system + np.nan_to_num(interrupts))


def calm_us(system: FloatArray) -> float:
    """Kernel time of a calm tick: a low quantile, as a storm can keep the kernel busy for most of a window."""
    known = system[np.isfinite(system)]
    return float(np.quantile(known, 0.2)) if len(known) else float("nan")


def bytes_each(dentries: Dentries) -> float:
    """Memory of one dentry on this node, including its share of half-empty slab pages."""
    slab, total = last(dentries.slab_bytes), last(dentries.total)
    if np.isfinite(slab) and np.isfinite(total) and total >= 1_000:
        return float(np.clip(slab / total, 128.0, 1024.0))
    return float(DENTRY_BYTES)


def last(values: FloatArray) -> float:
    """The newest known value; NaN if there is none."""
    known = np.flatnonzero(np.isfinite(values))
    return float(values[known[-1]]) if len(known) else float("nan")


def first(values: FloatArray) -> float:
    known = np.flatnonzero(np.isfinite(values))
    return float(values[known[0]]) if len(known) else float("nan")


def cpus(snapshot: Snapshot) -> float:
    return number(snapshot.node.fact("node.cpus")) or 1.0


def memory_bytes(snapshot: Snapshot) -> float:
    """MemTotal; NaN if unknown."""
    return number(snapshot.node.fact("node.memory_bytes")) or float("nan")


def counts_negative(snapshot: Snapshot) -> bool:
    """Whether negative dentries were counted: the field reads 0 on kernels that do not count them."""
    negative = read(snapshot).negative
    if not np.isfinite(negative).any():
        return False
    kernel = snapshot.node.fact("node.kernel") or ""
    version = parse(kernel)
    return bool(np.nanmax(negative) > 0) or version is None or version >= _COUNTED_SINCE or ".el" in kernel


def missing(snapshot: Snapshot, metrics: tuple[str, ...]) -> list[str]:
    """Those of the metrics that were not recorded here."""
    gone = [name for name in metrics if not has(snapshot.node, name)]
    if "dentries_negative" in metrics and "dentries_negative" not in gone and not counts_negative(snapshot):
        gone.append("dentries_negative")
    return gone


def not_enough(cause: str, gone: list[str], snapshot: Snapshot) -> NotEnoughData:
    """Name the sources of the missing data, and what they need."""
    found = missing_data.not_enough(cause, gone, snapshot)
    if "dentries_negative" in gone and has(snapshot.node, "dentries_negative"):
        kernel = snapshot.node.fact("node.kernel")
        return found.model_copy(
            update={"reason": f"Needs {', '.join(gone)}: Linux {kernel} does not count negative dentries (5.0 does)."}
        )
    return found


def refs(
    snapshot: Snapshot, *metrics: str, low: int = 0, high: int | None = None, beside: Iterable[ResourceView] = ()
) -> list[SeriesRef]:
    """References to what the node, and resources `beside` it, recorded of the metrics in the ticks [low, high)."""
    end = snapshot.ticks if high is None else min(high, snapshot.ticks)
    from_us = snapshot.start_us + max(0, low) * snapshot.step_us
    to_us = snapshot.start_us + max(low + 1, end) * snapshot.step_us
    return references.recorded((from_us, to_us), (snapshot.node, *beside), *metrics)
