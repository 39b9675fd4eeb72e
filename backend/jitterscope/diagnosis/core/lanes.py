"""Lanes, marks and measures that several areas show: they import these instead of each other's."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.area import Amounts, Lane, Line, Mark, Measure
from jitterscope.diagnosis.core.signals import has, series, spans
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

# Converts a counter of µs per tick of 100 ms into CPUs, or into the share of the tick.
PER_TICK_US = 1e-5
# From here on, the collector itself is late because the node stalls.
LATE_US = 50_000

NODE_CPU = Lane(
    "kernel_cpu", "CPU of the node: programs and kernel", "cpu",
    (
        Line("programs", "host_user_us", "area", of="node", scale=PER_TICK_US),
        Line("kernel", "host_system_us", "line", hot=True, of="node", scale=PER_TICK_US),
    ),
)  # fmt: skip
LATENESS = Lane(
    "lateness", "Collector lateness: the node stalls", "us",
    (Line("late by", "collector_lateness_us", "bars", hot=True, hot_above=LATE_US, of="node"),),
)  # fmt: skip
RECLAIM = Lane(
    "reclaim", "Scanned by reclaim, per tick", "1",
    (
        Line("pages, by kswapd", "vm_scan_kswapd_pages", "bars", of="node"),
        Line("pages, by direct reclaim", "vm_scan_direct_pages", "bars", hot=True, of="node"),
        Line("slab objects", "vm_slabs_scanned", "line", of="node"),
    ),
)  # fmt: skip
MARGIN = Lane(
    "margin", "Memory available on the node", "bytes",
    (
        Line("available", "memory_available_bytes", "area", of="node"),
        Line("free above the low watermark", "vm_low_margin_bytes", "line", hot=True, of="node"),
    ),
)  # fmt: skip
HEAP = Lane(
    "heap", "Heap", "bytes",
    (
        Line("live after the last GC cycle", "heap_live_bytes", "area", of="processes"),
        Line("size that starts the next cycle", "heap_goal_bytes", "line", of="processes"),
    ),
)  # fmt: skip
PRESSURE = Lane(
    "pressure", "Memory pressure (PSI): share of the time", "ratio",
    (
        Line("some task waits", "psi_memory_some_us", "bars", scale=PER_TICK_US),
        Line("all tasks wait", "psi_memory_full_us", "bars", hot=True, scale=PER_TICK_US),
    ),
)  # fmt: skip

OOM_KILL = Mark("memory.oom_kill", "OOM kill", "command")
EVICTION = Mark("pod.evicted", "pod evicted", "pod")
MASS_EXIT = Mark("process.mass_exit", "many threads ended", "command")


def exposure(snapshot: Snapshot, known: FloatArray, unit_us: float) -> FloatArray:
    """The time that each sample covers, in units of `unit_us`; NaN where the series has no value."""
    return spans(known) * (snapshot.step_us / unit_us)


def _memory_wait(snapshot: Snapshot) -> Amounts | None:
    if not has(snapshot.subject, "psi_memory_some_us"):
        return None
    waits = series(snapshot.subject, "psi_memory_some_us", snapshot.ticks)
    return Amounts(waits / 1000, exposure(snapshot, waits, 60e6))


def _late_ticks(snapshot: Snapshot) -> Amounts | None:
    if not has(snapshot.node, "collector_lateness_us"):
        return None
    late = series(snapshot.node, "collector_lateness_us", snapshot.ticks)
    ticks = np.where(np.isfinite(late), late > LATE_US, np.nan)
    return Amounts(ticks, exposure(snapshot, late, 60e6), ticks)


# An idle machine has up to 10 ms per minute.
MEMORY_WAIT = Measure(
    "memory_wait_ms_per_min", "Time in which some task waited for memory", "ms/min", ("psi_memory_some_us",),
    _memory_wait, least=10.0,
)  # fmt: skip
LATE_TICKS = Measure(
    "late_ticks_per_min", "Collector ticks over 50 ms late", "1/min", ("collector_lateness_us",), _late_ticks,
    decides=False,
)  # fmt: skip
