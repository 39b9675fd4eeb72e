"""Puts the columns of a simulated run into a Snapshot, as the collector and the database would deliver it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.core.served import METRICS
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Event, FloatArray, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.cpu.workload import COLLECTORS, MB, Workload
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, facts_of, latency_of, queries_of, view


def snapshot_of(
    load: Workload,
    columns: dict[str, FloatArray],
    cycles: list[Event],
    job_starts: list[Event],
    answered: list[tuple[int, int]],
    random: np.random.Generator,
) -> Snapshot:
    ticks = len(columns["queries"])
    noise = 300 + 200 * random.random(ticks)
    columns["cpu_usage_us"] = columns["cpu_usage_us"] + noise
    columns["server_us"] = columns["server_us"] + noise
    if load.missing_ratio:
        gone = random.random(ticks) < load.missing_ratio
        columns = {name: np.where(gone, np.nan, values) for name, values in columns.items()}
    manager = {"workload.manager": "none"} | {k: v for k, v in load.facts.items() if k.startswith("workload.")}
    memory = load.live_mb * (1.6 if load.gomemlimit_mb is None else 1.08)
    cgroup = view(
        1, "cgroup", "/lab/server",
        {name: values for name, values in columns.items() if name.startswith("cpu_")}
        | {"memory_anon_bytes": np.full(ticks, (memory + 12) * MB)},
        {"cpu.quota_us": str(load.quota_us or -1), "cpu.period_us": str(load.period_us),
         "cpu.burst_us": str(load.burst_us), "memory.limit_bytes": "-1"}
        | manager | {k: v for k, v in load.facts.items() if k.startswith(("cpu.", "memory."))},
    )  # fmt: skip
    processes = [_server(load, columns, cycles)]
    if load.starts_s is not None:
        started = Event("process.start", EPOCH_US + int(load.starts_s * 1e6))
        processes = [replace(one, events=(started, *one.events)) for one in processes]
    if load.job:
        seen = {"process_cpu_us": columns["job_us"]} if load.job_seen else {}
        facts = {"process.executable": "python3.11"}
        processes.append(view(5, "process", "4712:1", seen, facts, tuple(job_starts)))
    dns = (_dns(columns, answered, ticks, load),) if load.serves == "dns" else ()
    tcp = (_http(columns, answered, ticks),) if load.serves == "http" else ()
    node = view(
        0, "node", "node-1", {}, {"node.cpus": str(load.node_cpus), "node.kernel": "6.12.9", "node.cgroup_version": "2"}
    )  # fmt: skip
    return Snapshot(EPOCH_US, ticks, cgroup, node, processes=tuple(processes), dns_servers=dns, tcp_servers=tcp)


def _server(load: Workload, columns: dict[str, FloatArray], cycles: list[Event]) -> ResourceView:
    if load.runtime:
        return _of_runtime(load, columns, cycles)
    name = "coredns" if load.serves == "dns" else "worker"
    if not load.is_go:
        return view(2, "process", "4711:1", {"process_cpu_us": columns["server_us"]}, {"process.executable": name})
    facts = {"process.executable": name, "go.version": "1.23.4", "go.env.GOMAXPROCS": str(load.gomaxprocs),
             "go.gc_source": load.gc_source}  # fmt: skip
    if load.gogc is None:
        facts["go.env.GOGC"] = "off"
    elif load.gogc != 100:
        facts["go.env.GOGC"] = str(load.gogc)
    if load.gomemlimit_mb is not None:
        facts["go.env.GOMEMLIMIT"] = f"{int(load.gomemlimit_mb * MB)}B"
    facts |= {k: v for k, v in load.facts.items() if k.startswith(("go.", "process."))}
    series = {"process_cpu_us": columns["server_us"]}
    if load.gc_source == "metrics":
        return view(2, "process", "4711:1", series | _page(load, columns, cycles), facts, _ends(cycles))
    series["gc_active_us"] = columns["gc_active"]
    return view(2, "process", "4711:1", series, facts, tuple(cycles))


_PROGRAMS = {
    "jvm": ("java", "17.0.9+9"),
    "nodejs": ("node", "20.11.0"),
    "python": ("python3.12", "3.12.1"),
    "ruby": ("ruby", "3.4.5"),
}


def _of_runtime(load: Workload, columns: dict[str, FloatArray], cycles: list[Event]) -> ResourceView:
    program, version = _PROGRAMS[load.runtime]
    facts = {"process.executable": program} | {k: v for k, v in load.facts.items() if k.startswith("process.")}
    series = {"process_cpu_us": columns["server_us"]}
    if not load.observed:
        return view(2, "process", "4711:1", series, facts)
    source, _ = COLLECTORS[load.runtime]
    told = {"name": load.runtime, "version": version, "gc_source": source}
    facts |= {f"runtime.{name}": value for name, value in told.items()}
    facts |= {"runtime.gc_kind": "PSScavenge, PSParallelCompact"} if load.runtime == "jvm" else {}
    facts |= {"runtime.gc_marking": "observed"} if load.runtime in ("nodejs", "ruby") else {}
    facts |= {k: v for k, v in load.facts.items() if k.startswith("runtime.")}
    series |= {"gc_active_us": columns["gc_active"], "gc_pause_us": columns["gc_active"]}
    series |= {name: columns[name] for name in ("gc_cpu_us", "jit_cpu_us") if load.threads_seen}
    return view(2, "process", "4711:1", series, facts, tuple(cycles))


def _page(load: Workload, columns: dict[str, FloatArray], cycles: list[Event]) -> dict[str, FloatArray]:
    """The series from scraping the metrics page once a second."""
    ticks = len(columns["queries"])
    ended, live = np.full(ticks, np.nan), np.full(ticks, np.nan)
    ended[9::10], live[9::10] = 0.0, load.live_mb * MB
    for cycle in cycles:
        tick = (cycle.end_us - EPOCH_US) // TICK_US
        read = tick + (9 - tick) % 10
        if read < ticks:
            ended[read] += 1
    return {"gc_cycles": ended, "heap_live_bytes": live}


def _ends(cycles: list[Event]) -> tuple[Event, ...]:
    """The page reports the end of the last cycle of each second."""
    last = {(cycle.end_us - EPOCH_US) // 1_000_000: cycle.end_us for cycle in cycles}
    return tuple(Event("go.gc_cycle", end_us, 0, {"source": "metrics"}) for end_us in last.values())


def _dns(columns: dict[str, FloatArray], answered: list[tuple[int, int]], ticks: int, load: Workload) -> ResourceView:
    queries = queries_of(answered, EPOCH_US, EPOCH_US + ticks * TICK_US)
    series = {f"dns_{name}": columns[name] for name in ("queries", "answers", "slow")}
    server = view(3, "dns_server", "127.0.0.1:1053", series, {"dns.software": "coredns", "dns.version": "1.12.0"})
    distributions = {"dns_latency_us": latency_of(queries, ticks)} if len(queries.sent_us) else {}
    return replace(server, queries=queries, distributions=distributions)


def _http(columns: dict[str, FloatArray], answered: list[tuple[int, int]], ticks: int) -> ResourceView:
    """As the collector sees it: only slow requests individually."""
    whole = queries_of(answered, EPOCH_US, EPOCH_US + ticks * TICK_US)
    slow = whole.latency_us > SLOW_US
    single = Queries(whole.sent_us[slow], whole.latency_us[slow], whole.result[slow])
    tick = (whole.sent_us + whole.latency_us - EPOCH_US) // TICK_US
    inside = (tick >= 0) & (tick < ticks)
    slowest = np.full(ticks, -np.inf)
    np.maximum.at(slowest, tick[inside], whole.latency_us[inside].astype(np.float64))
    series = {
        "requests": columns["queries"], "responses": columns["answers"], "responses_slow": columns["slow"],
        "request_latency_max_us": np.where(np.isfinite(slowest), slowest, np.nan),
        "requests_unanswered": np.zeros(ticks),
    }  # fmt: skip
    server = view(3, "tcp_server", "/lab/server:8080", series, {"tcp.program": "worker", "tcp.process": "4711:1"})
    distributions = {"request_latency_us": latency_of(whole, ticks)} if len(whole.sent_us) else {}
    return replace(server, queries=single, distributions=distributions)


def without(snapshot: Snapshot, metric: str) -> Snapshot:
    """The snapshot as if a metric had never been delivered, nor its events, nor its equivalent at TCP servers."""

    gone = {metric, "gc_cycles", "gc_pause_us"} if metric == "gc_active_us" else {metric}
    gone |= {names["tcp_server"] for names in METRICS.values() if names["dns_server"] == metric}

    def strip(part: ResourceView) -> ResourceView:
        events = part.events if metric != "gc_active_us" else ()
        series = {k: v for k, v in part.series.items() if k not in gone}
        distributions = {k: v for k, v in part.distributions.items() if k not in gone}
        return replace(part, series=series, distributions=distributions, events=events)

    return replace(
        snapshot,
        subject=strip(snapshot.subject),
        node=strip(snapshot.node),
        ancestors=tuple(map(strip, snapshot.ancestors)),
        processes=tuple(map(strip, snapshot.processes)),
        dns_servers=tuple(map(strip, snapshot.dns_servers)),
        tcp_servers=tuple(map(strip, snapshot.tcp_servers)),
        tcp_upstreams=tuple(map(strip, snapshot.tcp_upstreams)),
        called_servers=tuple(map(strip, snapshot.called_servers)),
        dns_paths=tuple(map(strip, snapshot.dns_paths)),
        neighbours=tuple(map(strip, snapshot.neighbours)),
        cgroups=tuple(map(strip, snapshot.cgroups)),
    )


__all__ = ["facts_of", "snapshot_of", "without"]
