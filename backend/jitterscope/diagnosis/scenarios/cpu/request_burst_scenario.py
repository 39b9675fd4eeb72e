"""Short bursts of queries on a small heap; and other CPU bursts at a steady query rate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload, other_runtime
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "cpu/request_burst"


def _run(load: Workload) -> Snapshot:
    return simulate(load).snapshot


def _every(seconds: float, length: float, qps: float, first: float = 5.0) -> tuple[tuple[float, float, float], ...]:
    return tuple((first + seconds * i, length, qps) for i in range(int((58 - first) / seconds)))


def _fault(name: str, load: Workload) -> Scenario:
    return Scenario(f"request_burst/{name}", ID, partial(_run, load))


SCENARIOS = (
    _fault("small heap", Workload(qps=200, live_mb=3, bursts=_every(7, 0.5, 5000))),
    _fault("idle between bursts", Workload(qps=0, live_mb=3, bursts=_every(7, 0.5, 5000), seed=2)),
    _fault("one burst", Workload(qps=300, live_mb=3, bursts=((12.0, 0.8, 4500.0),), seconds=20, seed=3)),
    _fault("GC seen through /metrics", Workload(qps=200, live_mb=3, gc_source="metrics", bursts=_every(7, 0.5, 5000),
                                                seed=12)),
    _fault("JVM", replace(other_runtime("jvm"), qps=200, live_mb=3, bursts=_every(7, 0.5, 5000), seed=13)),
    _fault("JVM, GC not observed", replace(other_runtime("jvm"), qps=200, live_mb=3, bursts=_every(7, 0.5, 5000),
                                                 observed=False, seed=13)),
    _fault("no Go", Workload(qps=200, is_go=False, bursts=_every(9, 0.7, 4500), seed=4)),
    _fault("period 50 ms", Workload(quota_us=25_000, period_us=50_000, qps=300, live_mb=3,
                                    bursts=_every(8, 0.6, 4500), seed=5)),
    _fault("period 250 ms", Workload(quota_us=125_000, period_us=250_000, qps=300, live_mb=3,
                                     bursts=_every(8, 0.8, 4500), seed=6)),
    _fault("noise", Workload(qps=200, live_mb=3, bursts=_every(7, 0.5, 5000), missing_ratio=0.01,
                             stray_slow_ratio=0.002, hiccups=((30.0, 0.12),), seed=7)),
    Scenario(
        "request_burst/near miss: GC at a steady rate",
        "cpu/gc_throttling",
        partial(_run, Workload(qps=900, seed=8)),
    ),
    Scenario(
        "request_burst/near miss: raised rate that stays",
        "cpu/limit_too_low",
        partial(_run, Workload(qps=300, live_mb=3, bursts=((15.0, 45.0, 4500.0),), seed=9)),
    ),
    Scenario(
        "request_burst/near miss: a job at a steady rate",
        "cpu/periodic_burst",
        partial(_run, Workload(qps=600, live_mb=3, job=(4.0, 0.3), seed=10)),
    ),
    Scenario(
        "request_burst/near miss: GC all the time",
        "cpu/memory_limit_gc_spiral",
        partial(_run, Workload(qps=400, gomemlimit_mb=100, seconds=30, seed=11)),
    ),
)  # fmt: skip
