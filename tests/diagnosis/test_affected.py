"""The three questions of case 4, from simulated servers, and what cannot be known from them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from jitterscope.diagnosis.areas.dns.affected import Affected, affected, affected_of
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward, Hop
from jitterscope.diagnosis.scenarios.dns.simulate import simulate_dns

NODELOCAL = Hop("node-cache", "169.254.20.10:53", version="1.22.28", cache_ratio=0.0)
KUBEDNS = Hop("kube-dns", "127.0.0.1:10053", delay_us=50_000)


@cache
def run(qps: float, transport: str = "tcp", limit: int = 20) -> Snapshot:
    """NodeLocal → dnsmasq → kubedns that takes 50 ms, diagnosed at dnsmasq: `qps` × 50 ms connections are needed."""
    tcp = transport == "tcp"
    first = replace(NODELOCAL, forward=Forward(transport="tcp" if tcp else "udp", force_tcp=tcp, expire_s=1.0))
    middle = Hop("dnsmasq", "10.0.0.9:53", version="2.80", child_limit=limit, forward=Forward())
    load = DnsLoad(hops=(first, middle, KUBEDNS), subject=1, qps=qps, seconds=12)
    return simulate_dns(load).snapshot


def replies(found: Affected) -> list[str]:
    return [answer.answer for answer in found.answers]


def test_the_fault_is_answered_with_numbers() -> None:
    found = affected(run(800))
    assert found.verdict == "yes"
    combination, lines, limit = found.answers
    assert combination.answer == limit.answer == "yes"
    assert combination.numbers["force_tcp_upstreams"] == 1
    assert limit.numbers["children_max"] == limit.numbers["child_limit"] == 20
    assert limit.numbers["backlog_max"] > 0
    assert 0 < limit.numbers["waiting_s"] <= limit.numbers["at_limit_s"] <= 12
    errors = sum(event.kind == "dns.error" for view in run(800).neighbours for event in view.events)
    assert (lines.answer, lines.numbers["lines"]) == ("yes", errors)
    assert "10.0.0.9:53" in lines.statement


def test_enough_children_are_a_risk_only() -> None:
    found = affected(run(150))
    assert (found.verdict, replies(found)) == ("at_risk", ["yes", "no", "no"])
    assert found.answers[2].numbers["children_max"] < 20


def test_a_higher_limit_is_not_reached() -> None:
    found = affected(run(800, limit=200))
    assert (found.verdict, replies(found)) == ("at_risk", ["yes", "no", "no"])
    assert found.answers[2].numbers["child_limit"] == 200


def test_udp_needs_no_children() -> None:
    found = affected(run(150, "udp"))
    assert (found.verdict, found.answers[0].answer) == ("no", "no")
    assert "UDP" in found.answers[0].statement


def test_at_the_limit_without_a_backlog_is_harmless() -> None:
    """20 children and no waiting connections: lab `edge`."""
    whole = run(150)
    children = {"process_children": np.full(whole.ticks, 20.0)}
    backlog = {**whole.dns_servers[0].series, "dns_accept_backlog": np.zeros(whole.ticks)}
    edge = replace(
        whole,
        processes=(replace(whole.processes[0], series=children),),
        dns_servers=(replace(whole.dns_servers[0], series=backlog),),
    )
    found = affected(edge)
    assert (found.verdict, found.answers[2].answer) == ("at_risk", "yes")
    assert "harmless" in found.answers[2].statement


def test_one_tick_between_the_counters_does_not_hide_a_backlog() -> None:
    whole = run(150)
    children, backlog = np.full(whole.ticks, 3.0), np.zeros(whole.ticks)
    children[40], backlog[41] = 20.0, 5.0
    snapshot = replace(
        whole,
        processes=(replace(whole.processes[0], series={"process_children": children}),),
        dns_servers=(replace(whole.dns_servers[0], series={"dns_accept_backlog": backlog}),),
    )
    assert affected(snapshot).verdict == "yes"


def view(identity: int, kind: str, key: str, facts: dict[str, str]) -> ResourceView:
    return ResourceView(identity, kind, key, key, facts=tuple(FactValue(k, v, 0) for k, v in facts.items()))


def cluster(version: str, replicas: int | None = 2) -> list[ResourceView]:
    """A node where NodeLocal queries a Service whose pods run elsewhere."""
    upstreams = [{"zone": "cluster.local", "address": "172.18.165.130", "port": 53, "force_tcp": True}]
    facts = {"dns.software": "node-cache", "dns.upstreams": json.dumps(upstreams)}
    node = {"kube.server_version": version}
    if replicas is not None:
        node["kube.cluster_size"] = json.dumps({"nodes": 17, "cores": 272, "kube_dns_replicas": replicas})
    return [view(1, "dns_server", "169.254.20.10:53", facts), view(2, "node", "n", node)]


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        # kube-dns of GKE runs on CoreDNS from 1.36 on (docs.cloud.google.com/kubernetes-engine/docs/concepts/kube-dns)
        ("v1.30.5-gke.1014001", "yes"),
        ("v1.36.0-gke.2000", "no"),
        # Elsewhere the deployment behind the Service kube-dns is usually CoreDNS, so a replica count says nothing.
        ("v1.30.2", "cannot_tell"),
        ("garbage", "cannot_tell"),
    ],
)
def test_kube_dns_on_other_nodes_is_judged_by_the_version(version: str, expected: str) -> None:
    found = affected_of(cluster(version))
    assert found.answers[0].answer == expected
    if expected == "cannot_tell":
        assert found.answers[0].missing
        assert found.verdict == "cannot_tell"


def test_timeouts_decide_where_dnsmasq_is_elsewhere() -> None:
    from jitterscope.diagnosis.core.snapshot import Event

    server, node = cluster("v1.30.5-gke.1014001")
    attributes = {"kind": "io_timeout", "count": "7", "upstream": "172.18.165.130:53"}
    noisy = replace(server, events=(Event("dns.error", 5, 0, attributes),))
    found = affected_of([noisy, node])
    assert (found.verdict, replies(found)) == ("yes", ["yes", "yes", "cannot_tell"])
    assert found.answers[1].numbers["lines"] == 7


def test_what_is_not_seen_is_said() -> None:
    found = affected_of([])
    assert (found.verdict, replies(found)) == ("cannot_tell", ["cannot_tell", "cannot_tell", "cannot_tell"])
    why = {"dns_errors": "no log file (needs /var/log/pods)", "process_children": "no /proc"}
    found = affected_of(cluster("v1.30.5-gke.1014001"), why)
    assert replies(found) == ["yes", "cannot_tell", "cannot_tell"]
    assert "/var/log/pods" in found.answers[1].statement
    assert "no /proc" in found.answers[2].statement


def test_a_plain_coredns_is_not_affected() -> None:
    found = affected_of([view(1, "dns_server", "10.0.0.10:53", {"dns.software": "coredns"})])
    assert (found.verdict, found.answers[2].answer) == ("no", "no")


def test_a_dnsmasq_on_every_address_is_found() -> None:
    asked = [{"zone": "cluster.local", "address": "10.0.0.9", "port": 53, "force_tcp": True}]
    local = view(1, "dns_server", "10.1.1.1:53", {"dns.software": "coredns", "dns.upstreams": json.dumps(asked)})
    wild = view(2, "dns_server", "0.0.0.0:53@net:4026532", {"dns.software": "dnsmasq"})
    other = view(3, "dns_server", "0.0.0.0:5353", {"dns.software": "dnsmasq"})
    assert affected_of([local, wild]).answers[0].answer == "yes"
    assert affected_of([local, other]).answers[0].answer == "no"


def test_the_answer_is_the_same_from_any_order() -> None:
    whole = run(800)
    views = [*whole.dns_servers, *whole.neighbours, *whole.processes, whole.node]
    assert affected_of(views) == affected_of(reversed(views)) == affected(whole)
