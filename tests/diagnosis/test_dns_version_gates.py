"""What is recommended for connections, upstreams, and loss depends on versions; each gate names its source."""

from __future__ import annotations

import json

import pytest

from jitterscope.diagnosis.programs import versions as dns_versions
from jitterscope.diagnosis.scenarios.dns.corefiles import corefile_facts
from tests.diagnosis.dns_fix_cases import DROPPED, EXHAUSTED, HELD, KUBE_DNS, LOST, SLOW, case, text


# --- dnsmasq 2.80 / 2.90: https://thekelleys.org.uk/dnsmasq/CHANGELOG, "version 2.90"
@pytest.mark.parametrize("version", ["2.80", "dnsmasq-2.80", "2.89"])
def test_dnsmasq_before_2_90_has_no_such_option(version: str) -> None:
    fix = case(EXHAUSTED, {"dns.version": version})["max_tcp_connections"]
    assert fix.verdict == "cannot_help"
    assert not fix.patches
    assert "2.90" in fix.summary
    assert "https://thekelleys.org.uk/dnsmasq/CHANGELOG" in fix.references


@pytest.mark.parametrize("version", ["2.90", "dnsmasq-2.90", "2.92"])
def test_dnsmasq_from_2_90_on_gets_a_limit_for_this_load(version: str) -> None:
    fix = case(EXHAUSTED, {"dns.version": version})["max_tcp_connections"]
    assert fix.verdict == "removes"
    assert fix.precondition is None
    assert 50 <= int(text(fix).split("=")[1].split()[0]) <= 120
    assert "https://thekelleys.org.uk/dnsmasq/CHANGELOG" in fix.references


def test_an_unknown_dnsmasq_makes_it_a_precondition() -> None:
    fix = case(EXHAUSTED, {"dns.version": "unknown"})["max_tcp_connections"]
    assert fix.precondition is not None
    assert "2.90" in fix.precondition


# --- kubernetes/dns: commit b507dd34, first in 1.23.0
def test_an_older_kubernetes_dns_is_upgraded_together_with_the_option() -> None:
    image = "registry.k8s.io/dns/k8s-dns-dnsmasq-nanny:1.22.28"
    fixes = case(EXHAUSTED, {"dns.version": "2.88"}, KUBE_DNS | {"workload.image": image})
    newer = fixes["newer_kubernetes_dns"]
    assert "dnsmasq=registry.k8s.io/dns/k8s-dns-dnsmasq-nanny:1.23.0" in text(newer)
    assert image in newer.undo
    assert "stays 20" in newer.summary
    assert newer.verdict == "unknown"  # alone it changes nothing
    assert "b507dd34" in newer.references[0]
    newest = KUBE_DNS | {"workload.image": "registry.k8s.io/dns/k8s-dns-dnsmasq-nanny:1.26.7"}
    assert "newer_kubernetes_dns" not in case(EXHAUSTED, {}, newest)


# --- GKE 1.30 / 1.36: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/kube-dns
GKE_130 = {"kube.server_version": "v1.30.5-gke.1014001"}
GKE_136 = {"kube.server_version": "v1.36.1-gke.2000000"}


def test_gke_1_30_is_upgraded_or_moved_to_cloud_dns() -> None:
    fixes = case(EXHAUSTED, {"dns.version": "2.90"}, KUBE_DNS, GKE_130)
    assert fixes["newer_gke"].verdict == "removes"
    assert "1.36" in fixes["newer_gke"].title
    assert fixes["newer_gke"].references == ["https://docs.cloud.google.com/kubernetes-engine/docs/concepts/kube-dns"]
    assert "--cluster-dns=clouddns" in text(fixes["cloud_dns"])
    # GKE resets its own Deployment: an option that dnsmasq would know cannot be set.
    assert fixes["max_tcp_connections"].verdict == "cannot_help"
    assert "arguments are reset" in fixes["max_tcp_connections"].summary


def test_gke_1_36_needs_no_upgrade() -> None:
    """There kube-dns is CoreDNS; a remaining dnsmasq is the user's own."""
    fixes = case(EXHAUSTED, {"dns.version": "2.90"}, {}, GKE_136)
    assert "newer_gke" not in fixes
    assert fixes["max_tcp_connections"].verdict == "removes"
    assert "cloud_dns" in fixes


def test_elsewhere_nothing_of_gke_is_proposed() -> None:
    fixes = case(EXHAUSTED, {}, KUBE_DNS, {"kube.server_version": "v1.30.2"})
    assert not {"newer_gke", "cloud_dns"} & set(fixes)
    assert fixes["max_tcp_connections"].verdict == "removes"
    assert "- --max-tcp-connections=" in text(fixes["max_tcp_connections"])


def test_nodelocal_is_switched_off_as_the_cluster_does_it() -> None:
    assert "NodeLocalDNS=DISABLED" in text(case(EXHAUSTED, {}, KUBE_DNS, GKE_130)["disable_nodelocal"])
    plain = case(EXHAUSTED, {}, KUBE_DNS)["disable_nodelocal"]
    assert "delete daemonset node-local-dns" in text(plain)
    assert plain.precondition is not None
    assert "IPVS" in plain.precondition
    elsewhere = {"dns.software": "unbound"}
    assert "disable_nodelocal" not in case(EXHAUSTED, {}, KUBE_DNS, front=elsewhere)
    assert "prefer_udp" not in case(EXHAUSTED, {}, KUBE_DNS, front=elsewhere)


def test_force_tcp_beats_prefer_udp() -> None:
    """https://coredns.io/plugins/forward/: "force_tcp takes precedence"."""
    both = [{"zone": ".", "address": "10.0.1.5", "port": 53, "force_tcp": True, "prefer_udp": True}]
    fix = case(EXHAUSTED, front={"dns.upstreams": json.dumps(both)})["prefer_udp"]
    assert "-    force_tcp" in text(fix)
    assert "precedence" in fix.summary
    assert "https://coredns.io/plugins/forward/" in fix.references
    udp_only = [{"zone": ".", "address": "10.0.1.5", "port": 53, "prefer_udp": True}]
    assert "prefer_udp" not in case(EXHAUSTED, front={"dns.upstreams": json.dumps(udp_only)})


# --- CoreDNS 1.6 / 1.14
def test_max_concurrent_and_stale_answers_need_their_coredns() -> None:
    """notes/coredns-1.6.8.md, -1.8.1.md, -1.6.6.md"""
    old, between, new = (case(SLOW, {"dns.version": version}) for version in ("1.6.5", "1.7.0", "1.14.2"))
    assert old["max_concurrent"].verdict == old["serve_stale"].verdict == "cannot_help"
    assert any(url.endswith("notes/coredns-1.6.8.md") for url in old["max_concurrent"].references)
    assert any(url.endswith("notes/coredns-1.6.6.md") for url in old["serve_stale"].references)
    assert "SERVFAIL" in between["max_concurrent"].summary
    assert "REFUSED" in new["max_concurrent"].summary
    assert new["serve_stale"].verdict == "reduces"


def test_the_time_for_an_attempt_is_fixed_before_1_14_5() -> None:
    """notes/coredns-1.14.5.md: "Make per-upstream read timeout configurable"."""
    old, new = (case(SLOW, {"dns.version": version})["read_timeout"] for version in ("1.6.9", "1.14.5"))
    assert old.verdict == "cannot_help"
    assert (new.verdict, text(new)) == ("reduces", "read_timeout 3s")
    assert all(any(url.endswith("notes/coredns-1.14.5.md") for url in fix.references) for fix in (old, new))


def test_a_shorter_expire_works_only_before_1_7_1() -> None:
    """plugin/forward/persistent.go: the clean-up's ticker is t.expire in v1.7.0 and defaultExpire (10 s) in v1.7.1."""
    long = [{"zone": ".", "address": "10.0.1.5", "port": 53, "force_tcp": True, "expire_s": 10}]
    facts = {"dns.upstreams": json.dumps(long)}
    old = case(HELD, front=facts | {"dns.version": "1.6.9"})["shorter_expire"]
    new = case(HELD, front=facts | {"dns.version": "1.14.0"})["shorter_expire"]
    assert (old.verdict, text(old)) == ("reduces", "expire 1s")
    assert new.verdict == "cannot_help"
    assert all("v1.7.1/plugin/forward/persistent.go" in fix.references[0] for fix in (old, new))


def test_few_idle_connections_need_1_14_1() -> None:
    """plugin/forward/README.md of v1.14.1"""
    old, new = (case(HELD, front={"dns.version": version})["max_idle_conns"] for version in ("1.6.5", "1.14.1"))
    assert old.verdict == "cannot_help"
    assert (new.verdict, text(new)) == ("reduces", "max_idle_conns 2")
    assert all(any("v1.14.1" in url for url in fix.references) for fix in (old, new))


def test_more_sockets_need_1_12() -> None:
    """notes/coredns-1.12.0.md"""
    old, new = (case(DROPPED, {"dns.version": version})["multisocket"] for version in ("1.6.5", "1.14.0"))
    assert (old.verdict, new.verdict) == ("cannot_help", "reduces")
    assert all(any(url.endswith("notes/coredns-1.12.0.md") for url in fix.references) for fix in (old, new))


def test_tcp_is_not_advised_towards_a_dnsmasq() -> None:
    assert case(LOST)["force_tcp"].verdict == "reduces"
    behind = case(LOST, front={"dns.software": "dnsmasq"})["force_tcp"]
    assert behind.verdict == "cannot_help"
    assert not behind.patches


def test_what_is_set_already_is_not_proposed() -> None:
    stale = corefile_facts(".:53 {\n cache 30 {\n serve_stale\n }\n}")
    assert "serve_stale" not in case(SLOW, stale)
    limited = [{"zone": ".", "address": "10.0.0.2", "port": 53, "max_concurrent": 1000}]
    assert "max_concurrent" not in case(SLOW, {"dns.upstreams": json.dumps(limited)})


@pytest.mark.parametrize(
    "gate", dns_versions.GATES, ids=lambda gate: f"{gate.program} {gate.since_text} {gate.what[:20]}"
)
def test_every_gate_names_a_source_and_has_a_border(gate: dns_versions.Gate) -> None:
    assert gate.source.startswith("https://")
    before = (*gate.since[:-1], gate.since[-1] - 1)
    assert gate.open(gate.since) is True
    assert gate.open((*gate.since, 7)) is True
    assert gate.open((gate.since[0] + 1, 0)) is True
    assert gate.open(before) is False
    assert gate.open(None) is None


@pytest.mark.parametrize(
    ("spelled", "version"),
    [("dnsmasq-2.90", (2, 90)), ("v1.30.5-gke.1014001", (1, 30, 5)), ("1.22.28-gke.5", (1, 22, 28)),
     ("1.12.0", (1, 12, 0)), ("2.90-4~deb12u2", (2, 90)), ("latest", None), ("", None), (None, None)],
)  # fmt: skip
def test_versions_as_they_are_written(spelled: str | None, version: tuple[int, ...] | None) -> None:
    assert dns_versions.parse(spelled) == version
