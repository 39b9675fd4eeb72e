"""Puts a simulated chain of DNS servers into a Snapshot, as the collector and the database would deliver it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.snapshot import Event, Queries, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.dns.capture import TICK_US
from jitterscope.diagnosis.scenarios.dns.clients import World
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Hop
from jitterscope.diagnosis.scenarios.dns.servers import Server
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, latency_of, view

PROCESS_METRICS = frozenset({"process_children", "process_cpu_us"})
SUBJECT, PROCESS, SERVER, FIRST_NEIGHBOUR, FIRST_PATH, FIRST_WORKLOAD = 1, 2, 3, 10, 100, 200
EXECUTABLES = {"coredns": "coredns", "dnsmasq": "dnsmasq"}


def snapshot_of(load: DnsLoad, world: World) -> Snapshot:
    """Snapshot of the diagnosed hop: its server, its clients as paths, the other captured hops as neighbors."""
    hop, server = load.hops[load.subject], world.servers[load.subject]
    ticks = world.ticks
    quiet = {"cpu_usage_us": np.full(ticks, 900.0), "cpu_throttled_periods": np.zeros(ticks)}
    facts = {"cpu.quota_us": "-1", "cpu.period_us": "100000", "workload.manager": "none"} | dict(load.subject_facts)
    subject = view(SUBJECT, "cgroup", f"/lab/{hop.software}", quiet, facts)
    of_process = {name: values for name, values in server.capture.columns.items() if name in PROCESS_METRICS}
    process = view(
        PROCESS, "process", "4711:1", of_process | {"process_cpu_us": np.full(ticks, 900.0)},
        {"process.executable": EXECUTABLES.get(hop.software, hop.software)},
    )  # fmt: skip
    paths = tuple(
        view(FIRST_PATH + i, "dns_path", f"{client}>{hop.address}", columns, {})
        for i, (client, columns) in enumerate(sorted(server.capture.paths.items()))
    )
    neighbours = tuple(
        _server(load, world, index, FIRST_NEIGHBOUR + index)
        for index, other in enumerate(load.hops)
        if index != load.subject and other.captured
    )
    workloads = tuple(
        view(FIRST_WORKLOAD + i, "cgroup", key, {}, dict(values))
        for i, (key, values) in enumerate(sorted(load.workloads.items()))
    )
    node_facts = {"node.cpus": "4", "node.kernel": "6.12.9", "node.cgroup_version": "2"} | dict(load.node_facts)
    return Snapshot(
        EPOCH_US, ticks, subject, view(0, "node", "node-1", {}, node_facts), processes=(process,),
        dns_servers=(_server(load, world, load.subject, SERVER),), dns_paths=paths, neighbours=neighbours,
        workloads=workloads,
    )  # fmt: skip


def _server(load: DnsLoad, world: World, index: int, number: int) -> ResourceView:
    hop, server = load.hops[index], world.servers[index]
    columns = {k: v for k, v in server.capture.columns.items() if k not in PROCESS_METRICS}
    for name in ("dns_socket_drops", "dns_listen_drops", "dns_listen_overflows"):
        columns.setdefault(name, np.zeros(world.ticks))
    if server.forwarder is not None:
        counters = ["dnsmasq_cache_hits", "dnsmasq_cache_misses"]
        if hop.software != "dnsmasq":
            counters = [f"coredns_{name}" for name in (
                "cache_hits", "cache_misses", "forward_requests", "forward_time_us", "forward_errors",
                "conn_cache_hits", "conn_cache_misses", "max_concurrent_rejects",
            )]  # fmt: skip
        for name in counters:
            columns.setdefault(name, np.zeros(world.ticks))
    queries = _queries(server)
    came = queries.result != TIMEOUT
    answered = Queries(queries.sent_us[came], queries.latency_us[came], queries.result[came])
    distributions = {"dns_latency_us": latency_of(answered, world.ticks)} if came.any() else {}
    events = tuple(replace(e, start_us=EPOCH_US + e.start_us) for e in server.errors)
    if index == 0:
        events += _names(world)
    made = view(number, "dns_server", hop.address, columns, _facts(load, index, hop), events)
    return replace(made, queries=queries, distributions=distributions)


def _facts(load: DnsLoad, index: int, hop: Hop) -> dict[str, str]:
    facts = {"dns.software": hop.software, "dns.udp_sockets": str(hop.sockets)}
    if hop.version:
        facts["dns.version"] = hop.version
    if hop.child_limit is not None:
        facts["dns.child_limit"] = str(hop.child_limit)
    if hop.forward is not None:
        facts["dns.upstreams"] = json.dumps([_upstream(hop, load.hops[index + 1])])
    return facts | dict(hop.facts)


def _upstream(hop: Hop, following: Hop) -> dict[str, object]:
    forward = hop.forward
    assert forward is not None
    address, _, port = following.address.rpartition(":")
    entry: dict[str, object] = {"zone": forward.zone, "address": address, "port": int(port)}
    if hop.software != "dnsmasq":
        entry |= {"force_tcp": forward.force_tcp, "prefer_udp": forward.prefer_udp, "expire_s": forward.expire_s}
        if forward.max_concurrent is not None:
            entry["max_concurrent"] = forward.max_concurrent
    return entry


def _queries(server: Server) -> Queries:
    pairs = np.array(sorted(server.capture.queries) or np.zeros((0, 4)), dtype=np.int64).reshape(-1, 4)
    waits = pairs[:, 3] if len(pairs) and (pairs[:, 3] >= 0).all() else None
    return Queries(
        pairs[:, 0] + EPOCH_US, pairs[:, 1], pairs[:, 2], waits,
        complete=((EPOCH_US, EPOCH_US + server.capture.ticks * TICK_US),),
    )  # fmt: skip


def _names(world: World) -> tuple[Event, ...]:
    """The table of names of each 10 s, the most queried ones first."""
    events = []
    for index, rows in sorted(world.asked.items()):
        ranked = sorted(rows.items(), key=lambda item: (-item[1][0], item[0]))
        totals = np.array([row for _, row in ranked]).sum(axis=0)
        listed = [[*key, *row] for key, row in ranked[:200]]
        start = EPOCH_US + index * 10_000_000
        length = min(10_000_000, EPOCH_US + world.ticks * TICK_US - start)
        events.append(
            Event("dns.names", start, length, {
                "rows": json.dumps(listed), "queries": str(int(totals[0])), "nxdomain": str(int(totals[1])),
                "names": str(len({key[1] for key in rows})),
            })
        )  # fmt: skip
    return tuple(events)
