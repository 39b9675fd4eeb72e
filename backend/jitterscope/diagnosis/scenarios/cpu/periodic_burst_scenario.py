"""A job beside the server that burns CPU every few seconds; and bursts caused by queries or GC."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload, other_runtime
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "cpu/periodic_burst"


def _run(load: Workload) -> Snapshot:
    return simulate(load).snapshot


def _fault(name: str, load: Workload, *, hurts: bool = True) -> Scenario:
    return Scenario(f"periodic_burst/{name}", ID, partial(_run, load), hurts)


# A JVM that has been calm for 10 s and compiles a few more of its methods in the first minute.
COMPILES = replace(
    other_runtime("jvm"), quota_us=40_000, live_mb=3, qps=100, seconds=50, starts_s=2.0, seed=16,
    compiles=((22.0, 0.2), (29.0, 0.2), (36.5, 0.2)),
)  # fmt: skip

SCENARIOS = (
    _fault("beside a small heap", Workload(qps=500, live_mb=3, job=(5.0, 0.4))),
    _fault("beside a large heap", Workload(qps=500, job=(5.0, 0.4), seed=2)),
    _fault("every 2 s", Workload(qps=500, live_mb=3, job=(2.0, 0.25), seconds=30, seed=3)),
    _fault("short-lived processes", Workload(qps=500, live_mb=3, job=(5.0, 0.4), job_seen=False, seed=12)),
    _fault("GC seen through /metrics", Workload(qps=500, live_mb=3, job=(5.0, 0.4), gc_source="metrics", seed=13)),
    _fault("beside a JVM", replace(other_runtime("jvm"), live_mb=3, job=(5.0, 0.4), seed=14)),
    _fault(
        "beside a server that has just started",
        Workload(qps=500, live_mb=3, job=(3.0, 0.25), starts_s=2.0, seconds=30, seed=15),
    ),
    Scenario(
        "periodic_burst/look-alike: compiles its code after its start",
        "unexplained/slow_answers",
        partial(_run, COMPILES),
    ),
    Scenario(
        "periodic_burst/look-alike: compiles its code, as its threads show",
        None,
        partial(_run, replace(COMPILES, threads_seen=True)),
    ),
    _fault(
        "of a server that has just started itself",
        replace(COMPILES, compiles=tuple((16.0 + 4 * i, 0.2) for i in range(8))),
    ),
    _fault("no Go", Workload(qps=500, is_go=False, job=(5.0, 0.4), seed=4)),
    _fault("period 250 ms", Workload(quota_us=125_000, period_us=250_000, qps=500, live_mb=3, job=(6.0, 0.6), seed=5)),
    _fault("noise", Workload(qps=500, live_mb=3, job=(5.0, 0.4), missing_ratio=0.01, stray_slow_ratio=0.002, seed=6)),
    _fault("serves nothing", Workload(serves=None, is_go=False, qps=300, job=(5.0, 0.4), seed=7), hurts=False),
    Scenario(
        "periodic_burst/near miss: regular cycles",
        "cpu/gc_throttling",
        partial(_run, Workload(qps=1200, live_mb=120, seed=8)),
    ),
    Scenario(
        "periodic_burst/near miss: regular bursts of queries",
        "cpu/request_burst",
        partial(_run, Workload(qps=300, live_mb=3, bursts=tuple((5 + 5 * i, 0.5, 5000.0) for i in range(10)), seed=9)),
    ),
    Scenario(
        "periodic_burst/near miss: steady load",
        "cpu/limit_too_low",
        partial(_run, Workload(qps=3800, live_mb=3, seconds=20, seed=10)),
    ),
    Scenario(
        "periodic_burst/near miss: GC all the time",
        "cpu/memory_limit_gc_spiral",
        partial(_run, Workload(qps=300, gomemlimit_mb=130, seconds=30, seed=11)),
    ),
)
