"""The parameters of a simulated container."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

MB = 1_000_000
# The source that reports a collection, and its name there.
COLLECTORS = {
    "jvm": ("hsperfdata", "PSParallelCompact"),
    "nodejs": ("uprobe", "mark-compact"),
    "python": ("usdt", "generation 2"),
    "ruby": ("usdt", ""),
}


@dataclass(frozen=True, slots=True)
class Workload:
    """Parameters of a run; the defaults are the fault of case 1."""

    seconds: float = 60.0
    quota_us: int | None = 50_000
    period_us: int = 100_000
    burst_us: int = 0
    gomaxprocs: int = 2
    node_cpus: int = 2
    qps: float = 1000.0
    # (start_s, seconds, qps) of raised rates
    bursts: tuple[tuple[float, float, float], ...] = ()
    query_us: float = 200.0
    query_bytes: float = 26_000.0
    live_mb: float = 145.0
    gogc: int | None = 100
    gomemlimit_mb: float | None = None
    gc_us_per_mb: float = 1_100.0
    # (every_s, cpu_s) of a single-threaded job beside the server
    job: tuple[float, float] | None = None
    # whether it is a process that the collector sees, or one forked anew each time and gone
    job_seen: bool = True
    # (at_s, seconds) in which the node gives the cgroup no CPU
    hiccups: tuple[tuple[float, float], ...] = ()
    # share of answers that are late for their own reasons (a slow upstream)
    stray_slow_ratio: float = 0.0
    missing_ratio: float = 0.0
    serves: Literal["dns", "http"] | None = "dns"
    # when the server's process starts, which answers 3 s later; before that there is none, and no request
    starts_s: float | None = None
    # the first requests cost this many times what they cost later, falling by e every so many seconds
    cold: tuple[float, float] = (1.0, 1.0)
    # (at_s, cpu_s) of work of the server's own threads: code that is compiled
    compiles: tuple[tuple[float, float], ...] = ()
    # CPU time that a collection marks for afterwards, while the program runs (G1)
    marks_s: float = 0.0
    # whether the CPU time of GC and compiler threads is known
    threads_seen: bool = False
    # additional time of each answer: a call to another server
    own_us: float = 0.0
    is_go: bool = True
    # instead of Go: jvm, nodejs, python, or ruby, whose collections stop the program; and whether they are observed
    runtime: str = ""
    observed: bool = True
    # CPUs that such a collection uses at once
    gc_threads: int = 2
    gc_source: str = "uprobe"
    seed: int = 1
    facts: dict[str, str] = field(default_factory=dict)


_OPTIONS = {
    "jvm": ["-Xmx420m", "-XX:+UseParallelGC", "-XX:ActiveProcessorCount=4"],
    "nodejs": [],
    "python": [],
    "ruby": [],
}
_CPUS = {"jvm": 4, "nodejs": 2, "python": 1, "ruby": 1}


def other_runtime(runtime: str) -> Workload:
    """An HTTP service on a JVM, Node.js, Python, or Ruby in a container "cart": a collection stops it."""
    facts = {"workload.container": "cart", "runtime.options": json.dumps(_OPTIONS[runtime])}
    cpus = _CPUS[runtime]
    return Workload(
        is_go=False, runtime=runtime, gomaxprocs=cpus, gc_threads=cpus, node_cpus=4, serves="http", qps=300, facts=facts
    )
