"""Steady load above the limit, with and without GC; and stalls without steady load."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload, other_runtime
from jitterscope.diagnosis.scenarios.net.runs import OVERFLOW as CROWD
from jitterscope.diagnosis.scenarios.net.simulate import simulate as crowd
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "cpu/limit_too_low"

# A JVM under 0.25 CPU: requests are slow and cost much until their code is compiled, which goes on for a minute.
START_UP = replace(
    other_runtime("jvm"), quota_us=25_000, qps=100, query_us=400.0, live_mb=5, gogc=1000, seconds=100, starts_s=5.0,
    cold=(12.0, 8.0), compiles=tuple((8.0 + 2.5 * i + 1.3 * (i * i % 3), 0.25) for i in range(26)), seed=14,
)  # fmt: skip


def _run(load: Workload) -> Snapshot:
    return simulate(load).snapshot


def _fault(name: str, load: Workload, *, hurts: bool = True) -> Scenario:
    return Scenario(f"limit_too_low/{name}", ID, partial(_run, load), hurts)


SCENARIOS = (
    _fault("small heap", Workload(qps=4000, live_mb=3, seconds=20)),
    _fault("large heap", Workload(qps=3500, seconds=20, seed=2)),
    _fault("without GC", Workload(qps=4000, gogc=None, gomemlimit_mb=4000, seconds=20, seed=3)),
    _fault("no Go", Workload(qps=4000, is_go=False, seconds=20, seed=4)),
    _fault("JVM", replace(other_runtime("jvm"), qps=4000, live_mb=5, gogc=1000, seconds=20, seed=13)),
    _fault(
        "JVM, GC not observed",
        replace(other_runtime("jvm"), qps=4000, live_mb=5, gogc=1000, seconds=20, observed=False, seed=13),
    ),
    _fault("after a quiet minute", Workload(qps=200, bursts=((20.0, 40.0, 4000.0),), live_mb=3, seed=5)),
    _fault("period 50 ms", Workload(quota_us=20_000, period_us=50_000, qps=3000, live_mb=3, seconds=20, seed=6)),
    _fault("period 250 ms", Workload(quota_us=60_000, period_us=250_000, qps=2000, live_mb=3, seconds=20, seed=7)),
    _fault("while it starts", START_UP),
    Scenario(
        "limit_too_low/look-alike: starts within half a minute",
        None,
        partial(_run, replace(START_UP, cold=(6.0, 3.0), compiles=START_UP.compiles[:6])),
    ),
    _fault("serves nothing", Workload(serves=None, is_go=False, qps=3500, seconds=30, seed=8), hurts=False),
    Scenario(
        "limit_too_low/near miss: cycles close to the limit",
        "cpu/gc_throttling",
        partial(_run, Workload(qps=1700, seed=9)),
        note="the queries need 70 % of the limit; GC is what does not fit",
    ),
    Scenario(
        "limit_too_low/near miss: long bursts",
        "cpu/request_burst",
        partial(_run, Workload(qps=300, live_mb=3, bursts=tuple((4 + 12 * i, 1.5, 4000.0) for i in range(5)), seed=10)),
    ),
    Scenario(
        "limit_too_low/near miss: a job",
        "cpu/periodic_burst",
        partial(_run, Workload(qps=1000, live_mb=3, job=(6.0, 0.5), seed=11)),
    ),
    Scenario(
        "limit_too_low/near miss: GC all the time",
        "cpu/memory_limit_gc_spiral",
        partial(_run, Workload(qps=800, gomemlimit_mb=140, seconds=30, seed=12)),
    ),
    Scenario(
        "limit_too_low/near miss: bursts of connections that find no room",
        "net/accept_queue",
        partial(crowd, CROWD),
    ),
)
