"""The area `memory`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from jitterscope.diagnosis.areas.memory.readings import figures
from jitterscope.diagnosis.areas.memory.readings.settings import HIGH, show_upstreams, show_watermarks
from jitterscope.diagnosis.areas.memory.readings.signals import KILL
from jitterscope.diagnosis.areas.memory.whatif.answer import answer
from jitterscope.diagnosis.core import answers, blocked, impact, lanes
from jitterscope.diagnosis.core.area import (
    NEIGHBOUR,
    Area,
    Control,
    Lane,
    Line,
    Load,
    Mark,
    Measure,
    WatchedFact,
    WhatIf,
    measured,
)

_MEMORY = ("memory_usage_bytes", "memory_file_bytes", "memory_anon_bytes", "memory_oom_kills")
AREA = Area(
    id="memory",
    title="Memory",
    lanes=(
        Lane(
            "memory", "Memory of the container", "bytes",
            (
                Line("in use", "memory_usage_bytes", "area"),
                Line("anonymous: cannot be reclaimed", "memory_anon_bytes", "line", hot=True),
            ),
            fact="memory.limit_bytes",
        ),
        Lane(
            "concurrency", "Goroutines and open descriptors", "1",
            (
                Line("goroutines", "go_goroutines", "line", hot=True, of="processes"),
                Line("open descriptors", "process_fds", "line", of="processes"),
            ),
        ),
        lanes.PRESSURE,
        blocked.LANE,
        Lane(
            "refaults", "Pages of files read again, per second", "1",
            (Line("refaults", "memory_refaults", "bars", hot=True),),
        ),
        lanes.MARGIN,
        lanes.RECLAIM,
    ),
    marks=(
        lanes.OOM_KILL,
        lanes.EVICTION,
        lanes.MASS_EXIT,
        Mark("process.start", "process started"),
        Mark("process.exit", "process ended"),
    ),
    impact=(*impact.ANSWERS, blocked.BLOCKED_MS, *impact.CPU_USE),
    measures=(
        Measure("oom_kills_per_h", "OOM kills", "1/h", ("memory_usage_bytes", "memory_oom_kills", KILL),
                figures.oom_kills),
        Measure("near_limit_ratio", "Time above 80 % of the memory limit, without page cache", "ratio", _MEMORY,
                figures.near_limit, least=0.01, sign_of="oom_kills_per_h"),
        lanes.MEMORY_WAIT,
        answers.SLOW_ANSWERS,
        measured(
            blocked.BLOCKED_MS_PER_MIN, (blocked.BLOCKED, blocked.IN_IO), blocked.blocked_time,
            least=1_000.0,
        ),
        Measure("refaults_per_min", "Pages of files read again", "1/min", ("memory_refaults",), figures.refaults,
                decides=False),
        Measure("memory_ratio", "Memory in use, of the limit", "ratio", _MEMORY, figures.memory_use, decides=False),
        Measure("limit_hits_per_min", "Allocations that hit the limit", "1/min", ("memory_limit_hits",),
                figures.limit_hits, decides=False),
    ),
    load=(
        *answers.SERVED,
        Load("cpu", "CPUs in use", ("cpu_usage_us", "host_user_us"), figures.cpus, factor=2.0),
    ),
    facts=(
        answers.MEMORY_LIMIT,
        WatchedFact(HIGH, "memory.high", "subject", answers.mebibytes),
        WatchedFact(NEIGHBOUR + HIGH, "memory.high of the neighbor", "neighbours", answers.mebibytes),
        WatchedFact("go.env.GOMEMLIMIT", "GOMEMLIMIT", "processes", known_by="go.version"),
        WatchedFact("go.env.GOGC", "GOGC", "processes", known_by="go.version"),
        WatchedFact("go.version", "Go version", "processes"),
        answers.IMAGE,
        answers.DNS_VERSION,
        answers.COREFILE,
        WatchedFact("dns.upstreams", "Upstreams", "dns_servers", show_upstreams),
        WatchedFact("node.watermarks", "Memory watermarks", "node", show_watermarks),
    ),
    whatifs=(
        WhatIf(
            "memory", "Memory limit and concurrent queries",
            "Replays the latest burst of queries with a different memory limit, max_concurrent, or number of replicas.",
            (
                Control("limit_bytes", "Memory limit", "bytes", 1 << 20, 1 << 50),
                Control("max_concurrent", "max_concurrent", "1", 1, 1e7, hint="In total."),
                Control("replicas", "Replicas the burst is spread over", "1", 1, 1000),
            ),
            answer=answer,
            causes=("memory/query_burst_oom",),
        ),
    ),
)  # fmt: skip
