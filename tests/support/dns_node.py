"""A node with a chain of DNS servers, each in its own container, as a recording: what a collector delivers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.core.query_results import NXDOMAIN
from jitterscope.diagnosis.core.snapshot import Event, FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.dns.clients import World
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward, Hop, Name
from jitterscope.diagnosis.scenarios.dns.views import snapshot_of
from jitterscope.inventory.types import FactRow, ResourceKind, SourceRow
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import StoredDistribution, StoredEvent, StoredQueries

CACHE, DNSMASQ, RECORDS = "169.254.20.10:53", "10.4.1.38:53", "127.0.0.1:10053"
POD = "10.4.1.7"
# What a pod in the namespace "shop" looks up on GKE.
SEARCH = ("shop.svc.cluster.local", "svc.cluster.local", "cluster.local")
NAMES = (
    Name("payments.shop.svc.cluster.local.", 3.0, client=POD),
    *(Name(f"api.example.com.{domain}.", 1.0, "A", NXDOMAIN, POD) for domain in SEARCH),
    Name("api.example.com.", 1.0, client=POD),
)
LIMIT = 20
RESOLV_CONF = json.dumps({"nameservers": ["10.0.0.10"], "search": list(SEARCH), "ndots": 5, "options": []})
PODS = ("kube-system/node-local-dns-5xk2p/node-cache", "kube-system/kube-dns-6fb7c8866c-bxj7f/dnsmasq",
        "kube-system/kube-dns-6fb7c8866c-bxj7f/kubedns")  # fmt: skip


def load(*, burst_qps: float = 800.0, seconds: float = 20.0, seed: int = 1) -> DnsLoad:
    """NodeLocal DNSCache with force_tcp before a dnsmasq with 20 children, before a server that takes 50 ms.

    A burst needs 40 connections.
    """
    return DnsLoad(
        hops=(
            Hop("coredns", CACHE, "1.12.0", forward=Forward("tcp", force_tcp=True, expire_s=1.0, zone="cluster.local")),
            Hop("dnsmasq", DNSMASQ, "2.80", child_limit=LIMIT, forward=Forward("udp")),
            Hop("kubedns", RECORDS, delay_us=50_000.0),
        ),
        seconds=seconds,
        qps=200.0,
        bursts=((seconds * 0.4, seconds * 0.5, burst_qps),),
        names=NAMES,
        clients=(POD,),
        seed=seed,
    )  # fmt: skip


def recorded(of: DnsLoad, *, node: str = "node-1", subject: int = 1) -> Recording:
    """Every server of the chain with its cgroup, process, and clients; the subject is the cgroup of one of them."""
    world = World(of)
    world.run()
    resources: list[RecordedResource] = []
    subjects: list[int] = []
    for index in range(len(of.hops)):
        snapshot = snapshot_of(replace(of, subject=index), world)
        if not resources:
            resources.append(_recorded(snapshot.node, "node", 0, key=node, facts={"node.hostname": node}))
        subjects.append(len(resources))
        resources += _container(snapshot, index, len(resources))
    pod = ResourceView(0, "cgroup", "/kubepods/shop/web", "shop/web-7c9d8bb6f4-x2x9q/web")
    facts = {"dns.resolv_conf": RESOLV_CONF, "net.addresses": json.dumps([POD])} | _workload(pod.name)
    resources.append(_recorded(pod, "cgroup", 0, facts=facts))
    start_us = snapshot.start_us
    return Recording(
        start_us=start_us,
        ticks=snapshot.ticks,
        subject=subjects[subject],
        resources=tuple(resources),
        sources=(SourceRow("dns_errors", "unavailable", "no log is readable", "/var/log/pods"),),
    )


def _container(snapshot: Snapshot, index: int, at: int) -> list[RecordedResource]:
    """Cgroup, process, server, and its clients; `at` is the cgroup's future position."""
    (process,), (server,) = snapshot.processes, snapshot.dns_servers
    workload = _workload(PODS[index]) if index < len(PODS) else {}
    return [
        _recorded(snapshot.subject, "cgroup", 0, key=f"/kubepods/dns/{index}", facts=workload),
        _recorded(process, "process", at, key=f"{4700 + index}:1"),
        _recorded(server, "dns_server", at + 1, events=tuple(map(_few_names, server.events))),
        *(_recorded(path, "dns_path", at + 2) for path in snapshot.dns_paths),
    ]


def _workload(name: str) -> dict[str, str]:
    parts = zip(("workload.namespace", "workload.pod", "workload.container"), name.split("/"), strict=True)
    return dict(parts) | {"workload.manager": "kubernetes"}


def _few_names(event: Event) -> Event:
    """An attribute holds at most 4,096 characters: a collector omits names."""
    rows = event.attributes.get("rows")
    if rows is None or len(rows) <= 4096:
        return event
    listed = json.loads(rows)
    while len(json.dumps(listed)) > 4096:
        listed.pop()
    return replace(event, attributes={**event.attributes, "rows": json.dumps(listed)})


def _recorded(
    view: ResourceView,
    kind: ResourceKind,
    parent: int,
    *,
    key: str | None = None,
    facts: dict[str, str] | None = None,
    events: tuple[Event, ...] | None = None,
) -> RecordedResource:
    known = [fact for fact in view.facts if fact.name not in (facts or {})]
    since_us = min((fact.since_us for fact in view.facts), default=0)
    known += [FactValue(name, value, since_us) for name, value in (facts or {}).items()]
    queries = view.queries
    nobody = None if queries is None else np.zeros(len(queries.sent_us), np.int64)
    return RecordedResource(
        kind=kind,
        key=key or view.key,
        name=view.name,
        parent=parent,
        series=view.series,
        distributions={
            name: StoredDistribution(one.tick, one.bucket, one.count) for name, one in view.distributions.items()
        },
        facts=tuple(FactRow(fact.name, fact.value, fact.since_us) for fact in known),
        events=tuple(
            StoredEvent(0, 0, one.kind, one.start_us, one.duration_us, dict(one.attributes))
            for one in (view.events if events is None else events)
        ),
        queries=None
        if queries is None or nobody is None
        else StoredQueries(
            queries.sent_us, queries.latency_us, queries.result, nobody, nobody, ("api.example.com. A",), (POD,),
            queries.queue_wait_us, queries.complete,
        ),
    )  # fmt: skip
