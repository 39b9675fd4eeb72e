"""Knowledge about the JVM (HotSpot): its collector, GC threads, and the CPUs and heap that it assumes.

Sources: docs.oracle.com/en/java/javase/21/gctuning; src/hotspot/share/gc/shared/{gcConfig,workerPolicy}.cpp
(`nof_parallel_worker_threads(5, 8, 8)`); src/hotspot/share/runtime/arguments.cpp (`set_heap_size`);
src/hotspot/os/linux/cgroupSubsystem_linux.cpp (`active_processor_count`: the quota rounded up; CPU shares no longer
count since JDK 19); JEP 523 (G1 in all environments, JDK 27).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import ResourceView
from jitterscope.diagnosis.programs import options
from jitterscope.diagnosis.programs.options import Threads

Collector = Literal["serial", "parallel", "g1", "zgc", "shenandoah", "cms"]
NAMES: dict[Collector, str] = {
    "serial": "Serial", "parallel": "Parallel", "g1": "G1", "zgc": "ZGC", "shenandoah": "Shenandoah", "cms": "CMS",
}  # fmt: skip
# Names of collectors in hsperfdata (sun.gc.collector.N.name), in old and new releases.
_KINDS: tuple[tuple[str, Collector], ...] = (
    ("Shenandoah", "shenandoah"), ("ZGC", "zgc"), ("Z ", "zgc"), ("G1", "g1"), ("PS", "parallel"),
    ("Parallel", "parallel"), ("ParNew", "cms"), ("CMS", "cms"), ("Serial", "serial"), ("Copy", "serial"),
    ("MSC", "serial"),
)  # fmt: skip
FLAGS: dict[str, Collector] = {
    "UseSerialGC": "serial", "UseParallelGC": "parallel", "UseParallelOldGC": "parallel", "UseG1GC": "g1",
    "UseZGC": "zgc", "UseShenandoahGC": "shenandoah", "UseConcMarkSweepGC": "cms",
}  # fmt: skip
# Below either of these, a JVM before JDK 27 uses the serial collector.
SERVER_CPUS, SERVER_BYTES = 2, 1792 << 20
_G1_EVERYWHERE, _G1_BY_DEFAULT = 27, 9
_COUNTS_SINCE_8U = 191
# The first release that reads the CPU limits of the cgroups above its own.
READS_ABOVE = 24
# The heap if -Xmx is not set (Arguments::set_heap_size): this share of the memory (MaxRAMPercentage), but at least
# MaxHeapSize's default (96 MiB scaled for 64 bits), or in less memory the share MinRAMPercentage.
_MOST_SHARE, _SMALL_SHARE = 25.0, 50.0
_LEAST_HEAP_BYTES = (96 << 20) * 13 // 10
# Memory that a JVM needs besides its heap: metaspace, code cache, threads, the collector's own.
BESIDE_HEAP = 0.25


@dataclass(frozen=True, slots=True)
class Cpus:
    """CPUs that a JVM assumes; None if unknown. `explicit`: set by an option."""

    value: int | None
    why: str
    explicit: bool


def release(process: ResourceView) -> int | None:
    """17 of "17.0.9+9-Debian", 8 of "1.8.0_392"; None if unknown."""
    match = re.match(r"(?:1\.)?(\d+)", process.fact("runtime.version") or "")
    return int(match[1]) if match else None


def has_processor_count(process: ResourceView) -> bool | None:
    """Whether this JVM has -XX:ActiveProcessorCount (JDK 10, 8u191): any other refuses to start. None: not known."""
    version = release(process)
    if version != 8:
        return None if version is None else version >= 10
    update = re.search(r"_(\d+)", process.fact("runtime.version") or "")
    return None if update is None else int(update[1]) >= _COUNTS_SINCE_8U


def cpus(process: ResourceView, limit: float, node_cpus: float | None) -> Cpus:
    """The CPUs that a JVM assumes under a CPU limit in CPUs (inf: none)."""
    set_ = options.count(options.value(options.of(process), "-XX:ActiveProcessorCount"))
    told = number(process.fact("runtime.cpus"))
    if set_:
        return Cpus(set_, f"-XX:ActiveProcessorCount={set_}", explicit=True)
    if told:
        return Cpus(int(told), "as the JVM found at its start", explicit=False)
    affinity = number(process.fact("process.affinity_cpus")) or node_cpus
    if "-XX:-UseContainerSupport" in options.of(process):
        return Cpus(None if affinity is None else int(affinity), "-XX:-UseContainerSupport: all CPUs", explicit=True)
    if not math.isfinite(limit):
        return Cpus(None if affinity is None else int(affinity), "one per CPU of the node", explicit=False)
    quota = max(1, math.ceil(limit - 1e-9))
    return Cpus(quota if affinity is None else int(min(quota, affinity)), "the CPU limit rounded up", explicit=False)


def collector(process: ResourceView, limit: float, node_cpus: float | None, memory: float | None) -> Collector | None:
    """The collector in use. Without options and data, by HotSpot's rule; `memory`: the container's limit in bytes."""
    if (told := _told(process)) is not None:
        return told
    for option in options.of(process):
        if (flag := option.removeprefix("-XX:+")) in FLAGS:
            return FLAGS[flag]
    version, believed = release(process), cpus(process, limit, node_cpus).value
    if version is None or believed is None:
        return None
    if version < _G1_EVERYWHERE and (believed < SERVER_CPUS or (memory is not None and memory < SERVER_BYTES)):
        return "serial"
    return "g1" if version >= _G1_BY_DEFAULT else "parallel"


def concurrent(process: ResourceView) -> Collector | None:
    """The collector of a JVM that also works concurrently, as reported by the JVM; None for all others."""
    kind = _told(process)
    return kind if kind in ("g1", "zgc", "shenandoah", "cms") else None


def _told(process: ResourceView) -> Collector | None:
    kinds = process.fact("runtime.gc_kind") or ""
    return next((kind for name, kind in _KINDS if re.search(rf"(?<![A-Za-z]){re.escape(name)}", kinds)), None)


def gc_threads(process: ResourceView, limit: float, node_cpus: float | None) -> Threads:
    """Threads that collect while the program is stopped: one for the serial collector, else ParallelGCThreads."""
    if collector(process, limit, node_cpus, None) == "serial":
        return Threads(1, "the serial collector has one thread")
    set_ = options.count(options.value(options.of(process), "-XX:ParallelGCThreads"))
    if set_:
        return Threads(set_, f"-XX:ParallelGCThreads={set_}")
    believed = cpus(process, limit, node_cpus)
    if believed.value is None:
        return Threads(None, believed.why)
    n = believed.value
    return Threads(n if n <= 8 else 8 + (n - 8) * 5 // 8, f"for {n} CPUs: {believed.why}")


def heap_limit_bytes(process: ResourceView, memory: float | None) -> int | None:
    """The maximum heap size: -Xmx, else what HotSpot takes of the container's memory limit; None: not known."""
    return heap_bytes(options.of(process), memory)


def heap_bytes(set_: tuple[str, ...], memory: float | None) -> int | None:
    """The same by a JVM's options."""
    explicit = options.size(options.value(set_, "-Xmx", "-XX:MaxHeapSize"))
    if explicit is not None or memory is None:
        return explicit
    small = memory * (number(options.value(set_, "-XX:MinRAMPercentage")) or _SMALL_SHARE) / 100
    if small < _LEAST_HEAP_BYTES:
        return int(small)
    most = memory * (number(options.value(set_, "-XX:MaxRAMPercentage")) or _MOST_SHARE) / 100
    return int(max(most, _LEAST_HEAP_BYTES))


def is_full(collector_name: str) -> bool:
    """Whether a collector of hsperfdata collects the whole heap while the program is stopped."""
    return any(word in collector_name for word in ("full", "Full", "PSParallelCompact", "MSC", "MarkSweep"))
