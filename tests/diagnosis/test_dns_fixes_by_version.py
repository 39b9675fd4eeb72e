"""Fixes for names, rates, and sockets depend on versions, settings, and the manager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from jitterscope.diagnosis.core.engine import diagnose
from jitterscope.diagnosis.core.finding import Fix
from jitterscope.diagnosis.core.snapshot import FactValue, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from tests.diagnosis.scenarios import built

GKE_130, GKE_136, PLAIN = "v1.30.5-gke.1014001", "v1.36.0-gke.1000", "v1.30.2"
KUBE_DNS = {
    "workload.manager": "kubernetes", "workload.namespace": "kube-system", "workload.pod": "kube-dns-6fb7c8866c-bxj7f",
    "workload.container": "dnsmasq", "workload.owner": "ReplicaSet/kube-dns-6fb7c8866c",
}  # fmt: skip


def told(view: ResourceView, facts: Mapping[str, str | None]) -> ResourceView:
    kept = tuple(fact for fact in view.facts if fact.name not in facts)
    return replace(view, facts=kept + tuple(FactValue(k, v, 0) for k, v in facts.items() if v is not None))


def case(
    name: str,
    server: Mapping[str, str | None] | None = None,
    subject: Mapping[str, str | None] | None = None,
    cluster: str | None = None,
) -> dict[str, Fix]:
    """Fixes of a scenario's first finding, with other facts."""
    whole = built(name)
    snapshot: Snapshot = replace(
        whole,
        dns_servers=(told(whole.dns_servers[0], server or {}),),
        subject=told(whole.subject, subject or {}),
        node=told(whole.node, {"kube.server_version": cluster} if cluster else {}),
    )
    return {fix.id: fix for fix in diagnose(snapshot).findings[0].fixes}


def text(fix: Fix) -> str:
    return "\n".join(patch.text for patch in fix.patches)


SEARCHED = "search_domain_amplification/every look-up waits for six denials"
FORGOTTEN = "no_negative_cache/dnsmasq --no-negcache"
LIMITED = "upstream_rate_limited/Google refuses what is above 1,500"
DROPPED = "upstream_rate_limited/what is above is dropped"
SOCKET = "single_socket_serialization/volleys"


# --- search domains
def test_names_get_their_dot_and_pods_their_ndots() -> None:
    fixes = case(SEARCHED)
    assert "-api.signicat.com\n+api.signicat.com." in text(fixes["trailing_dot"])
    assert "+auth.pay.svc.cluster.local." in text(fixes["trailing_dot"])
    assert "resolv.conf.5" in fixes["trailing_dot"].references[0]
    # shop finds "auth.pay" by its search list, so it needs 2; github.com of pay needs 1.
    assert "kubectl -n shop patch deployment/web" in text(fixes["ndots"])
    assert '{"name":"ndots","value":"2"}' in text(fixes["ndots"])
    assert "kubectl -n pay patch deployment/api" in text(fixes["ndots"])
    assert '{"name":"ndots","value":"1"}' in text(fixes["ndots"])
    assert any("musl" in reference for reference in fixes["ndots"].references)


def test_pods_that_are_not_certain_are_not_patched() -> None:
    fixes = case("search_domain_amplification/addresses unknown")
    assert "kubectl" not in text(fixes["ndots"])
    assert 'value: "2"' in text(fixes["ndots"])


def test_autopath_is_for_a_coredns_that_pods_ask_themselves() -> None:
    """coredns.io/plugins/autopath: it needs the kubernetes plugin with `pods verified`."""
    fix = case(SEARCHED)["autopath"]
    assert "+autopath @kubernetes" in text(fix)
    assert "-    pods insecure\n+    pods verified" in text(fix)
    assert "https://coredns.io/plugins/autopath/" in fix.references
    corefile = ".:53 {\n    kubernetes cluster.local {\n        pods verified\n    }\n    forward . 10.0.0.2\n}\n"
    assert "pods verified" not in text(case(SEARCHED, corefile_facts(corefile))["autopath"])
    has_it = corefile.replace("    forward", "    autopath @kubernetes\n    forward")
    assert "autopath" not in case(SEARCHED, corefile_facts(has_it))
    assert "autopath" not in case(SEARCHED, corefile_facts(".:53 {\n    forward . 10.0.0.2\n}\n"))
    assert "autopath" not in case(SEARCHED, {"dns.software": "dnsmasq"})
    assert case(SEARCHED, {"dns.software": "node-cache"})["autopath"].verdict == "cannot_help"


def test_a_forgetful_server_is_told_to_remember_too() -> None:
    assert "negative_cache" not in case(SEARCHED)
    corefile = ".:53 {\n    forward . 10.0.0.2\n}\n"
    fixes = case(SEARCHED, {"dns.negative_cache": "no"} | corefile_facts(corefile))
    assert "+cache 30" in text(fixes["negative_cache"])


# --- negative answers
def test_kube_dns_of_gke_cannot_be_told_to_remember() -> None:
    """docs.cloud.google.com/kubernetes-engine/docs/concepts/kube-dns: managed; on CoreDNS from 1.36 on."""
    fixes = case(FORGOTTEN, subject=dict(KUBE_DNS), cluster=GKE_130)
    assert fixes["negative_cache"].verdict == "cannot_help"
    assert not fixes["negative_cache"].patches
    assert "1.36" in fixes["negative_cache"].summary
    assert "concepts/kube-dns" in fixes["negative_cache"].references[0]
    assert "--cluster-dns=clouddns" in text(fixes["cloud_dns"])
    assert "nodelocal_dnscache" not in fixes


def test_a_kube_dns_of_ones_own_is_patched() -> None:
    fixes = case(FORGOTTEN, subject=dict(KUBE_DNS), cluster=PLAIN)
    assert text(fixes["negative_cache"]) == "-        - --no-negcache\n+        - --neg-ttl=30"
    assert "deployment/kube-dns" in fixes["negative_cache"].patches[0].label
    assert "cloud_dns" not in fixes
    # The fix that leads into case 4 says so.
    assert any("dnsmasq_connection_exhaustion" in caveat for caveat in fixes["nodelocal_dnscache"].caveats)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [({"workload.manager": "systemd"}, "-no-negcache\n+neg-ttl=30"), ({}, "---no-negcache\n+--neg-ttl=30")],
)
def test_a_plain_dnsmasq_is_told_in_its_own_way(facts: dict[str, str | None], expected: str) -> None:
    fixes = case(FORGOTTEN, subject=facts)
    assert text(fixes["negative_cache"]) == expected
    assert "nodelocal_dnscache" not in fixes


def test_a_dnsmasq_without_the_switch_gets_no_guess() -> None:
    assert "negative_cache" not in case(FORGOTTEN, {"dns.arguments": "/usr/sbin/dnsmasq -k"})


def test_coredns_is_told_by_what_its_corefile_says() -> None:
    """coredns.io/plugins/cache: `disable denial` since 1.9.4, `denial` sets the size and time."""
    assert text(case("no_negative_cache/CoreDNS without cache")["negative_cache"]) == "+cache 30"
    switched_off = text(case("no_negative_cache/CoreDNS with denials switched off")["negative_cache"])
    assert "-    disable denial\n+    denial 9984 30" in switched_off


# --- rates
def test_google_is_asked_less_or_asked_for_more() -> None:
    """developers.google.com/speed/public-dns/docs/isp"""
    fix = case(LIMITED)["more_resolvers"]
    assert "public-dns/docs/isp" in fix.references[0]
    assert "does not double the limit" in fix.caveats[0]
    assert "nodelocal_dnscache" not in case(LIMITED)


def test_a_limit_per_interface_is_spread_over_nodes() -> None:
    """docs.aws.amazon.com/vpc/latest/userguide/AmazonDNS-concepts.html"""
    fix = case(DROPPED)["nodelocal_dnscache"]
    assert "3 nodes" in fix.summary
    assert "AmazonDNS-concepts" in fix.references[1]


@pytest.mark.parametrize(
    ("version", "bounded"),
    [
        ("1.6.7", None),  # max_concurrent: notes/coredns-1.6.8.md
        ("1.6.9", "SERVFAIL"),  # REFUSED since notes/coredns-1.8.1.md
        ("1.8.4", "REFUSED"),
        ("1.14.2", "REFUSED"),
        (None, "REFUSED"),
    ],
)
def test_coredns_is_told_what_its_version_knows(version: str | None, bounded: str | None) -> None:
    fixes = case(LIMITED, {"dns.version": version})
    # Stale answers would also be those of the cluster's own names.
    assert "serve_stale" not in text(fixes["cache_more"])
    assert ("max_concurrent" in fixes) == (bounded is not None)
    if bounded is not None:
        fix = fixes["max_concurrent"]
        assert f"excess queries get {bounded} immediately" in fix.summary
        assert fix.precondition == ("Requires CoreDNS 1.6.8 or later." if version is None else None)
        assert any("notes/coredns-1.6.8.md" in reference for reference in fix.references)


def test_a_bound_that_is_set_is_not_proposed() -> None:
    upstreams = '[{"zone": ".", "address": "8.8.8.8", "port": 53, "max_concurrent": 1000}]'
    assert "max_concurrent" not in case(LIMITED, {"dns.upstreams": upstreams})


# --- sockets
@pytest.mark.parametrize(
    ("version", "verdict", "precondition"),
    [
        ("1.6.9", "cannot_help", None),  # notes/coredns-1.12.0.md
        ("1.11.3", "cannot_help", None),
        ("1.12.0", "reduces", None),
        ("1.14.2", "reduces", None),
        (None, "reduces", "Requires CoreDNS 1.12.0 or later: an older one refuses to start."),
    ],
)
def test_multisocket_needs_a_version(version: str | None, verdict: str, precondition: str | None) -> None:
    fix = case(SOCKET, {"dns.version": version})["multisocket"]
    assert (fix.verdict, fix.precondition) == (verdict, precondition)
    # A CoreDNS that does not know the plugin does not start: no patch unless it is known to.
    assert text(fix) == ("multisocket 4" if verdict == "reduces" and precondition is None else "")
    assert any("notes/coredns-1.12.0.md" in reference for reference in fix.references)


def test_other_servers_are_told_otherwise() -> None:
    assert case("single_socket_serialization/dnsmasq")["multisocket"].verdict == "cannot_help"
    assert "so-reuseport" in text(case(SOCKET, {"dns.software": "unbound"})["so_reuseport"])
    assert case(SOCKET, {"dns.software": "named"}, dict(KUBE_DNS)).keys() == {"scale_out"}


def test_replicas_are_for_what_has_some() -> None:
    assert "deployment/kube-dns" in text(case(SOCKET, subject=dict(KUBE_DNS))["scale_out"])
    one_a_node: dict[str, str | None] = {**KUBE_DNS, "workload.owner": "DaemonSet/node-local-dns"}
    assert "scale_out" not in case(SOCKET, subject=one_a_node)
    assert "scale_out" not in case(SOCKET)


def test_room_in_the_queue_is_for_queues_that_overflow() -> None:
    assert "receive_buffer" not in case(SOCKET)
    assert "rmem" in text(case("single_socket_serialization/a queue that stays full")["receive_buffer"])
