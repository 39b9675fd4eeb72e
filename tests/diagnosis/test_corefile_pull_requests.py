"""Fixes of a CoreDNS on Kubernetes as Corefile changes in a repository: what they write lands as that fix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from jitterscope.diagnosis.areas.dns.fixes import loss, multisocket, transport
from jitterscope.diagnosis.core.finding import Change, CorefileChange, Fix, PluginChange
from jitterscope.diagnosis.core.landing import FixKind, Seen
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from jitterscope.pulls import plan
from jitterscope.pulls.files import corefile_text
from tests.diagnosis.dns_fix_cases import DROPPED, EXHAUSTED, KUBE_DNS, LOST, case

COREDNS = {
    "workload.manager": "kubernetes", "workload.namespace": "kube-system", "workload.container": "coredns",
    "workload.pod": "coredns-7c9d8bb6f4-x2x9q", "workload.owner": "ReplicaSet/coredns-7c9d8bb6f4",
}  # fmt: skip
SOCKET = "single_socket_serialization/volleys"
COREFILE = """\
.:53 {
    errors # all
    forward . 10.0.0.1
    cache 30
}
corp:53 {
    forward . 10.0.0.2 {
        force_tcp
        max_fails 0
    }
}
"""
KINDS = {kind.id: kind for kind in (*loss.FIXES, *multisocket.FIXES, *transport.FIXES)}


def upstreams(*forced: bool) -> dict[str, str]:
    """Upstreams of the two zones of COREFILE."""
    made: list[dict[str, Any]] = [
        {"zone": zone, "address": f"10.0.0.{number}", "port": 53, "force_tcp": tcp}
        for number, (zone, tcp) in enumerate(zip((".", "corp"), forced, strict=True), start=1)
    ]
    return {"dns.upstreams": json.dumps(made)}


def changed(fix: Fix, owner: str = "deployment/coredns") -> str:
    """The file with the changes of its pull request."""
    (change,) = plan.changes_of(fix)
    assert (change.namespace, change.owner) == ("kube-system", owner)
    return written(change)


def written(change: Change) -> str:
    assert isinstance(change, CorefileChange | PluginChange)
    return corefile_text.change_corefile(COREFILE, change)


def lands(kind: FixKind, after: str, before: Mapping[str, str], more: Mapping[str, str]) -> bool:
    assert isinstance(kind.landing, Seen)
    return kind.landing.lands_as({**corefile_facts(COREFILE), **before}, {**corefile_facts(after), **more})


@pytest.mark.parametrize(
    ("name", "count"),
    [(SOCKET, 4), (DROPPED, 2)],
)
def test_multisocket_goes_into_the_first_block(name: str, count: int) -> None:
    server = {"dns.software": "coredns", "dns.version": "1.12.0", "dns.udp_sockets": "1", **corefile_facts(COREFILE)}
    after = changed(case(name, server, COREDNS)["multisocket"])
    assert after == COREFILE.replace(".:53 {\n", f".:53 {{\n    multisocket {count}\n")
    assert lands(KINDS["multisocket"], after, {}, {})


def test_force_tcp_goes_into_every_forward() -> None:
    server = {"dns.software": "coredns", **corefile_facts(COREFILE)}
    after = changed(case(LOST, server, COREDNS)["force_tcp"])
    assert after == COREFILE.replace("10.0.0.1\n", "10.0.0.1 {\n        force_tcp\n    }\n")
    assert lands(KINDS["force_tcp"], after, upstreams(False, True), upstreams(True, True))


UDP = COREFILE.replace("        force_tcp\n        max_fails 0\n", "        max_fails 0\n        prefer_udp\n")
OWN = "connection_pool_churn/opened again every 2 s, seen nowhere else"


def test_prefer_udp_goes_where_tcp_is_forced() -> None:
    """For NodeLocal DNSCache in front of the diagnosed server, and for CoreDNS itself."""
    read = {"dns.software": "node-cache", **corefile_facts(COREFILE)}
    behind = changed(case(EXHAUSTED, {}, KUBE_DNS, front=read)["prefer_udp"], "daemonset/node-local-dns")
    own = changed(case(OWN, read | {"dns.software": "coredns"}, COREDNS)["prefer_udp"])
    assert behind == own == UDP
    assert lands(KINDS["prefer_udp"], UDP, upstreams(False, True), upstreams(False, False))


def test_what_an_add_on_owns_or_has_no_known_name_is_not_changed() -> None:
    read = corefile_facts(COREFILE)
    gke = {"kube.server_version": "v1.30.5-gke.1014001"}
    of_add_on = case(EXHAUSTED, {}, KUBE_DNS, gke, {"dns.software": "node-cache", **read})["prefer_udp"]
    named = {**KUBE_DNS, "workload.container": "node-cache", "workload.owner": "DaemonSet/node-local-dns"}
    of_named_add_on = case(EXHAUSTED, {}, KUBE_DNS, gke, {"dns.software": "node-cache", **named, **read})["prefer_udp"]
    unnamed = case(EXHAUSTED, {}, KUBE_DNS, front={"dns.software": "coredns", **read})["prefer_udp"]
    server = {"dns.software": "coredns", **read}
    in_docker = case(LOST, server, COREDNS | {"workload.manager": "docker"})["force_tcp"]
    for fix in (of_add_on, of_named_add_on, unnamed, in_docker):
        assert not plan.changes_of(fix)
        assert plan.impossible(fix) is not None
