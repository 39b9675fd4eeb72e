"""GC of a large heap under a small quota, in variants with distractors; and look-alikes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload, other_runtime
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "cpu/gc_throttling"


def _run(load: Workload) -> Snapshot:
    return simulate(load).snapshot


def _fault(name: str, load: Workload, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"gc_throttling/{name}", ID, partial(_run, load), hurts, note)


# Its pauses alone would not use up the limit, and it is still compiling what is called often.
G1 = replace(
    other_runtime("jvm"), quota_us=58_000, qps=250, live_mb=50, gogc=60, marks_s=0.07, threads_seen=True, seed=25,
    compiles=((14.0, 0.15), (31.0, 0.12), (50.0, 0.1)),
)  # fmt: skip

SCENARIOS = (
    _fault("case 1", Workload()),
    _fault("one cycle", Workload(seconds=6.0, seed=2), note="the first cycle after a few seconds must suffice"),
    _fault("period 50 ms", Workload(quota_us=25_000, period_us=50_000, seed=3)),
    _fault("period 250 ms", Workload(quota_us=125_000, period_us=250_000, seed=4)),
    _fault("small quota, few queries", Workload(quota_us=20_000, qps=300, live_mb=290, seconds=90, seed=5)),
    _fault("one thread", Workload(gomaxprocs=1, seed=6)),
    _fault("with CFS burst", Workload(burst_us=50_000, seed=7)),
    _fault("small heap, quick cycles", Workload(live_mb=60, seed=8)),
    _fault("noise", Workload(missing_ratio=0.02, stray_slow_ratio=0.002, hiccups=((20.0, 0.1),), seed=9),
           note="missing ticks, answers slow for another reason, a tick lost to the node"),
    _fault("seen through /metrics", Workload(gc_source="metrics", seed=15), note="ends of cycles, once a second"),
    _fault("serves nothing", Workload(serves=None, seconds=90, seed=10), hurts=False, note="no latency: a risk"),
    _fault("HTTP", Workload(serves="http", qps=300, seed=16)),
    _fault("HTTP, answers that usually take 30 ms", Workload(serves="http", qps=300, own_us=30_000, seed=17),
           note="all are over 20 ms: slow are those over 90 ms"),
    _fault("JVM", replace(other_runtime("jvm"), seed=16)),
    _fault("JVM, little room in the heap", replace(other_runtime("jvm"), gogc=15, seed=17)),
    _fault("JVM, throttled without rest", replace(other_runtime("jvm"), gogc=2, seconds=30, seed=18),
           note="the work of a query cannot be measured outside the stalls"),
    _fault("JVM above 1 CPU", replace(other_runtime("jvm"), quota_us=120_000, live_mb=290, seed=19)),
    _fault("JVM whose G1 marks while the program runs", G1),
    _fault("Node.js", replace(other_runtime("nodejs"), live_mb=200, gogc=50, seed=20)),
    _fault("Python", replace(other_runtime("python"), quota_us=40_000, live_mb=200, gogc=50, seed=21)),
    _fault("Ruby", replace(other_runtime("ruby"), quota_us=40_000, live_mb=200, gogc=50, seed=24)),
    Scenario(
        "gc_throttling/near miss: bursts on a small heap",
        "cpu/request_burst",
        partial(_run, Workload(qps=200, live_mb=3, bursts=tuple((5 + 6 * i, 0.6, 5000.0) for i in range(9)), seed=11)),
        note="every throttled tick coincides with GC, and a cycle costs 3 ms",
    ),
    Scenario(
        "gc_throttling/near miss: overload with a large heap",
        "cpu/limit_too_low",
        partial(_run, Workload(qps=3500, seconds=20, seed=12)),
        note="GC runs, but the queries alone need more than the limit",
    ),
    Scenario(
        "gc_throttling/near miss: overload of a JVM",
        "cpu/limit_too_low",
        partial(_run, replace(other_runtime("jvm"), qps=4000, live_mb=20, seconds=20, seed=22)),
        note="it collects ten times a second, for 20 ms of CPU time each",
    ),
    Scenario(
        "gc_throttling/near miss: a job beside a JVM",
        "cpu/periodic_burst",
        partial(_run, replace(other_runtime("jvm"), live_mb=20, job=(5.0, 0.4), seed=23)),
    ),
    Scenario(
        "gc_throttling/near miss: a job beside a JVM whose threads are known",
        "cpu/periodic_burst",
        partial(_run, replace(G1, compiles=(), live_mb=5, marks_s=0.01, job=(5.0, 0.4), seed=26)),
    ),
    Scenario(
        "gc_throttling/near miss: a job beside a large heap",
        "cpu/periodic_burst",
        partial(_run, Workload(qps=500, job=(5.0, 0.4), seed=13)),
    ),
    Scenario(
        "gc_throttling/near miss: GOMEMLIMIT below the heap",
        "cpu/memory_limit_gc_spiral",
        partial(_run, Workload(qps=500, gomemlimit_mb=120, seconds=30, seed=14)),
    ),
)  # fmt: skip
