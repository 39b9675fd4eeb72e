"""Memory that grows to its limit by itself, and look-alikes: page cache, loading, garbage."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.scenarios.memory.runs import run, until
from jitterscope.diagnosis.scenarios.memory.simulate import MemoryWorkload
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "memory/limit_oom"
LEAK = MemoryWorkload(seconds=60, leaks=((10, 100, 6.0),))
FULL = MemoryWorkload(
    seconds=60, limit_mib=64, qps=2_500, wait_s=0.02, waits=((28, 1.2, 4.0),), query_kib=3.8, leaks=((10, 100, 2.3),),
    seed=10,
)  # fmt: skip


def _fault(name: str, load: MemoryWorkload, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"limit_oom/{name}", ID, partial(run, load), hurts, note)


def _fine(name: str, load: MemoryWorkload) -> Scenario:
    return Scenario(f"limit_oom/healthy: {name}", None, partial(run, load))


SCENARIOS = (
    _fault("a leak, before the kill", until(LEAK, 27)),
    _fault("a leak, killed", until(replace(LEAK, seed=2), 45)),
    _fault("a quick leak", MemoryWorkload(seconds=14, leaks=((10, 100, 25.0),), seed=3)),
    _fault("a slow leak", MemoryWorkload(seconds=120, limit_mib=300, base_mib=120, leaks=((0, 200, 0.6),), seed=4)),
    _fault("a program that serves no DNS", MemoryWorkload(
        seconds=25, serves_dns=False, go=False, software="python3", limit_mib=512, leaks=((5, 60, 16.0),),
        psi_us=200, seed=5)),
    _fault("files in memory", MemoryWorkload(
        seconds=40, tmpfs=True, files=((5, 60, 9.0),), seed=6)),
    _fault("all of it within a tick", MemoryWorkload(
        seconds=40, go=False, software="unbound", limit_mib=48, leaks=((20, 0.1, 4_000.0),), seed=12)),
    _fault("just started", MemoryWorkload(seconds=24, started_s=1.0, leaks=((2, 60, 6.0),), seed=7)),
    _fault("beside page cache", until(replace(LEAK, files=((0, 60, 1.0),), seed=8), 27)),
    _fault("with gaps", until(replace(LEAK, seen_ratio=0.7, seed=9), 28)),
    # A server that is nearly out of memory stalls: queries pile up because memory is full.
    _fault("a leak, queries pile up at the end", until(FULL, 28.5)),
    _fault("a leak, killed while queries pile up", until(replace(FULL, seed=11), 31)),
    _fine("level", MemoryWorkload(seconds=60, base_mib=120, seed=20)),
    _fine("no limit", replace(LEAK, limit_mib=None, seed=21)),
    _fine("page cache, room for it", MemoryWorkload(seconds=40, limit_mib=400, files=((5, 60, 8.0),), seed=22)),
    _fine("loading data, with room", MemoryWorkload(
        seconds=20, limit_mib=300, started_s=1.0, loads=((2, 10, 120.0),), seed=23)),
    _fine("loading data, half way", MemoryWorkload(
        seconds=8, limit_mib=300, started_s=1.0, loads=((2, 10, 120.0),), seed=24)),
    _fine("a heap between two collections", MemoryWorkload(
        seconds=30, limit_mib=170, heap_mib=60, garbage_mib_s=2.2, seed=25)),
    _fine("a leak that is far away", MemoryWorkload(seconds=60, limit_mib=900, leaks=((5, 100, 1.0),), seed=26)),
    Scenario(
        "limit_oom/near miss: a burst of queries",
        "memory/query_burst_oom",
        partial(run, MemoryWorkload(seconds=21, bursts=((20, 30, 4000),), seed=30)),
        note="memory grows as steadily, with the queries that wait",
    ),
    Scenario(
        "limit_oom/near miss: page cache at the limit",
        "memory/reclaim_stall",
        partial(run, MemoryWorkload(
            seconds=40, limit_mib=170, files=((2, 60, 12.0),), reclaim=((18, 12),), psi_us=45_000, seed=31)),
        note="usage goes straight to the limit and stays there: files are given back, and that makes tasks wait",
    ),
)  # fmt: skip
