"""GOMEMLIMIT below the live heap; and frequent GC for other reasons."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "cpu/memory_limit_gc_spiral"


def _run(load: Workload) -> Snapshot:
    return simulate(load).snapshot


def _fault(name: str, load: Workload, *, hurts: bool = True) -> Scenario:
    return Scenario(f"memory_limit_gc_spiral/{name}", ID, partial(_run, load), hurts)


SCENARIOS = (
    _fault("case 1 with GOMEMLIMIT", Workload(qps=500, gomemlimit_mb=120, seconds=30)),
    _fault("GOGC off", Workload(qps=500, gogc=None, gomemlimit_mb=140, seconds=30, seed=2)),
    _fault("more queries", Workload(qps=1000, gomemlimit_mb=100, seconds=30, seed=3)),
    _fault("period 250 ms", Workload(quota_us=125_000, period_us=250_000, qps=500, gomemlimit_mb=120, live_mb=290,
                                     seconds=40, seed=4)),
    _fault("noise", Workload(qps=500, gomemlimit_mb=120, missing_ratio=0.01, stray_slow_ratio=0.002,
                             seconds=30, seed=5)),
    _fault("serves nothing", Workload(serves=None, qps=500, gomemlimit_mb=120, seconds=30, seed=10), hurts=False),
    Scenario(
        "memory_limit_gc_spiral/near miss: GOMEMLIMIT with room",
        "cpu/gc_throttling",
        partial(_run, Workload(gomemlimit_mb=1000, seed=6)),
    ),
    Scenario(
        "memory_limit_gc_spiral/near miss: load on a small heap",
        "cpu/limit_too_low",
        partial(_run, Workload(qps=4000, live_mb=3, gomemlimit_mb=200, seconds=20, seed=7)),
        note="short cycles follow each other all the time",
    ),
    Scenario(
        "memory_limit_gc_spiral/near miss: bursts",
        "cpu/request_burst",
        partial(_run, Workload(qps=200, live_mb=3, gomemlimit_mb=200,
                               bursts=tuple((5 + 7 * i, 0.6, 5000.0) for i in range(7)), seed=8)),
    ),
    Scenario(
        "memory_limit_gc_spiral/near miss: a job",
        "cpu/periodic_burst",
        partial(_run, Workload(qps=400, gomemlimit_mb=1000, job=(5.0, 0.4), seed=9)),
    ),
)  # fmt: skip
