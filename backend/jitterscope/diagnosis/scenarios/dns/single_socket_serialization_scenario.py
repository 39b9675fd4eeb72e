"""Servers with one reader and idle CPUs; and queues that fill because there is no CPU left."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.snapshot import Queries, Snapshot
from jitterscope.diagnosis.scenarios.cpu.contention import contended, delays
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward, Hop
from jitterscope.diagnosis.scenarios.dns.simulate import simulate_dns
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US, facts_of, inside_ticks, latency_of

ID = "dns/single_socket_serialization"
COREFILE = ".:53 {\n    forward . 10.0.0.2\n    cache 30\n}\n"
GO = {"process.executable": "coredns", "go.version": "1.23.4"}


def split(snapshot: Snapshot, cpu_us: float | None = None, cpus: int = 4, wait_all: bool = False) -> Snapshot:
    """Add what dns_path_split reports for each query, and `cpu_us` of CPU per answer (None: unchanged).

    `wait_all`: all of a query's time beyond the work was spent in the queue, as if the process had not run at all.
    """
    server, subject = snapshot.dns_servers[0], snapshot.subject
    queries = server.queries
    assert queries is not None
    waits = queries.queue_wait_us
    if wait_all or waits is None:
        waits = np.maximum(0, queries.latency_us - 300)
        if not wait_all:
            # A dropped datagram is answered when the client retries: it was in the queue only then.
            waits = np.where(queries.latency_us >= 4_900_000, 0, waits)
        # Whether a query without an answer was read is not known.
        waits = np.where(queries.result == TIMEOUT, -1, waits)
    whole = replace(queries, queue_wait_us=waits)
    came = queries.result != TIMEOUT

    def histogram(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Queries:
        """Values by the tick in which their query's answer left."""
        begun = queries.sent_us + queries.latency_us - values
        return Queries(begun[came], np.maximum(1, values[came]), queries.result[came])

    distributions = dict(server.distributions) | {
        "dns_queue_wait_us": latency_of(histogram(waits), snapshot.ticks),
        "dns_work_us": latency_of(histogram(queries.latency_us - waits), snapshot.ticks),
    }
    if server.fact("dns.udp_sockets") is None:
        server = replace(server, facts=(*server.facts, *facts_of({"dns.udp_sockets": "1"})))
    changed = replace(snapshot, dns_servers=(replace(server, queries=whole, distributions=distributions),))
    if cpu_us is None:
        return changed
    # The work is done in the tick of the answer, or spread over the ticks in which it waited for a reader.
    tick = np.clip((queries.sent_us + queries.latency_us - EPOCH_US) // TICK_US, 0, snapshot.ticks - 1)
    usage = 900.0 + cpu_us * np.bincount(tick, minlength=snapshot.ticks)
    used = {**subject.series, "cpu_usage_us": np.minimum(usage, cpus * float(TICK_US))}
    software = server.fact("dns.software") or ""
    process = snapshot.processes[0]
    if software == "coredns":
        process = replace(process, facts=facts_of(GO | {"go.gomaxprocs": str(cpus)}))
    if software == "dnsmasq":
        own = {"process_threads": np.ones(snapshot.ticks), "process_cpu_us": used["cpu_usage_us"]}
        process = replace(process, series={**process.series, **own})
    return replace(changed, subject=replace(subject, series=used), processes=(process,))


def _run(load: DnsLoad, cpu_us: float, cpus: int = 4) -> Snapshot:
    return split(simulate_dns(load).snapshot, cpu_us, cpus)


def _on_a_full_node(load: DnsLoad, cpu_us: float, waited_us: float) -> Snapshot:
    """No CPU of the node is ever idle; the server's tasks wait for one for `waited_us` of each tick with queries."""
    made = _run(load, cpu_us)
    node = replace(
        made.node,
        series={**made.node.series, "host_idle_us": np.zeros(made.ticks)},
        facts=(*made.node.facts, *facts_of({"node.cpus": "4"})),
    )
    pressure = np.where(made.dns_servers[0].series["dns_queries"] > 0, waited_us, 0.0)
    subject = replace(made.subject, series={**made.subject.series, "psi_cpu_some_us": pressure})
    return replace(made, node=node, subject=subject)


def _stalled(load: Workload) -> Snapshot:
    return split(simulate(load).snapshot, wait_all=True)


def _starved(load: Workload) -> Snapshot:
    """Six busy loops take the CPUs for short times."""
    spans = tuple((1.5 + 1.3 * i, 0.15 + 0.1 * (i % 3)) for i in range(44))
    made = split(simulate(replace(load, hiccups=spans)).snapshot, wait_all=True)
    return contended(made, delays(spans, made.ticks), 0.1 + 0.9 * inside_ticks(spans, made.ticks))


SERVER = Hop(
    "coredns", "10.96.0.10:53", version="1.12.1", read_us=100.0, buffer_queries=2500, cache_ratio=1.0,
    negative_cache_ratio=1.0, forward=Forward(), facts=corefile_facts(COREFILE) | {"dns.negative_cache": "yes"},
)  # fmt: skip
UPSTREAM = Hop("upstream", "10.0.0.2:53", delay_us=4_000, captured=False)
BASE = DnsLoad(
    hops=(SERVER, UPSTREAM), qps=300, volleys=(1.5, 1600), seconds=14, subject_facts={"cpu.quota_us": "500000"}
)


def _with(**changes: object) -> tuple[Hop, ...]:
    return (replace(SERVER, **changes), UPSTREAM)  # type: ignore[arg-type]


def _fault(name: str, load: DnsLoad, cpu_us: float = 160.0, hurts: bool = True, cpus: int = 4) -> Scenario:
    return Scenario(f"single_socket_serialization/{name}", ID, partial(_run, load, cpu_us, cpus), hurts)


SCENARIOS = (
    _fault("volleys", BASE),
    _fault("a version without multisocket", replace(BASE, hops=_with(version="1.8.4"), seed=2)),
    _fault("a rate above one reader", replace(
        BASE, hops=_with(read_us=250.0), qps=1500, volleys=None,
        bursts=((3.0, 1.0, 4600.0), (8.0, 1.0, 4600.0)), seed=3), 330.0),
    _fault("a queue that stays full", replace(
        BASE, hops=_with(read_us=250.0, buffer_queries=500), qps=1500, volleys=None, bursts=((3.0, 2.5, 4800.0),),
        seed=4), 330.0),
    _fault("dnsmasq", replace(
        BASE, hops=_with(software="dnsmasq", version="2.90", facts={"dns.negative_cache": "yes"}), seed=5)),
    _fault("dnsmasq, busy for longer than anyone waits", replace(
        BASE, hops=_with(software="dnsmasq", version="2.90", read_us=190.0, facts={"dns.negative_cache": "yes"}),
        qps=100, volleys=None, bursts=tuple((2.0 + 3 * i, 0.05, 8000.0) for i in range(4)), seed=11,
        subject_facts={"cpu.quota_us": "200000"}), 190.0, cpus=2),
    Scenario(
        "single_socket_serialization/work of low priority takes the idle CPUs",
        ID,
        partial(_on_a_full_node, replace(BASE, seed=12), 160.0, 4_000.0),
    ),
    Scenario(
        "single_socket_serialization/look-alike: others take the CPUs, and the server waits for one",
        None,
        partial(_on_a_full_node, replace(BASE, seed=13), 160.0, 60_000.0),
    ),
    Scenario(
        "single_socket_serialization/look-alike: several sockets, too few for the volleys",
        None,
        partial(_run, replace(BASE, hops=_with(sockets=2, read_us=200.0), seed=6), 160.0),
    ),
    Scenario(
        "single_socket_serialization/look-alike: the CPUs are used up",
        None,
        partial(_run, replace(BASE, seed=7), 450.0),
    ),
    Scenario(
        "single_socket_serialization/look-alike: the server does not run for a moment",
        None,
        partial(_run, replace(
            BASE, hops=_with(stops=((4.0, 0.5), (9.0, 0.3)), buffer_queries=10_000), qps=800, volleys=None,
            seed=9), 30.0),
    ),
    Scenario(
        "single_socket_serialization/look-alike: others take the CPU for moments",
        None,
        partial(_run, replace(
            BASE, hops=_with(stops=tuple((1.0 + 1.13 * i, 0.025) for i in range(11))), qps=700, volleys=None,
            seed=10), 150.0),
    ),
    Scenario(
        "single_socket_serialization/look-alike: short waits",
        None,
        partial(_run, replace(BASE, volleys=(1.0, 100), seed=8), 160.0),
    ),
    Scenario(
        "single_socket_serialization/near miss: the queue fills while GC has used up the CPU limit",
        "cpu/gc_throttling",
        partial(_stalled, Workload(qps=900, seed=21)),
    ),
    Scenario(
        "single_socket_serialization/near miss: the queue fills while others have the node's CPUs",
        "cpu/neighbours",
        partial(_starved, replace(Workload(qps=300, live_mb=3, quota_us=None, gomaxprocs=1), seed=23)),
    ),
    Scenario(
        "single_socket_serialization/near miss: bursts use up the CPU limit",
        "cpu/request_burst",
        partial(_stalled, Workload(
            qps=200, live_mb=3, bursts=tuple((5.0 + 7 * i, 0.5, 5000.0) for i in range(7)), seed=22)),
    ),
)  # fmt: skip
