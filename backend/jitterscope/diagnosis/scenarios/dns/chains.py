"""Chains of servers for scenarios: NodeLocal DNSCache → dnsmasq → kubedns, and a CoreDNS that queries a resolver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Forward, Hop
from jitterscope.diagnosis.scenarios.dns.simulate import simulate_dns

NODE_LOCAL = Hop(
    "coredns",
    "169.254.20.10:53",
    "1.12.0",
    forward=Forward("tcp", force_tcp=True, expire_s=1.0, zone="cluster.local."),
)
DNSMASQ = Hop("dnsmasq", "10.0.1.5:53", "2.90", child_limit=20, work_us=200, forward=Forward())
KUBEDNS = Hop("coredns", "127.0.0.1:10053", "1.12.0", delay_us=50_000)
COREDNS = Hop("coredns", "10.0.0.10:53", "1.12.0", forward=Forward())
RESOLVER = Hop("unbound", "10.0.0.2:53", "1.19.0", delay_us=2_000)


def nodelocal(
    *,
    subject: int = 1,
    node_local: dict[str, Any] | None = None,
    forward: dict[str, Any] | None = None,
    dnsmasq: dict[str, Any] | None = None,
    kubedns: dict[str, Any] | None = None,
    **load: Any,  # noqa: ANN401 - fields of DnsLoad
) -> DnsLoad:
    """The chain of case 4, diagnosed at dnsmasq by default; the dictionaries change fields of its hops."""
    first = replace(NODE_LOCAL, **(node_local or {}))
    if forward and first.forward is not None:
        first = replace(first, forward=replace(first.forward, **forward))
    hops = (first, replace(DNSMASQ, **(dnsmasq or {})), replace(KUBEDNS, **(kubedns or {})))
    return DnsLoad(hops, subject, **load)


def forwarder(
    *,
    server: dict[str, Any] | None = None,
    forward: dict[str, Any] | None = None,
    resolver: dict[str, Any] | None = None,
    **load: Any,  # noqa: ANN401 - fields of DnsLoad
) -> DnsLoad:
    """A CoreDNS that queries a resolver over UDP, diagnosed at the CoreDNS."""
    first = replace(COREDNS, **(server or {}))
    if forward and first.forward is not None:
        first = replace(first, forward=replace(first.forward, **forward))
    return DnsLoad((first, replace(RESOLVER, **(resolver or {}))), 0, **load)


def run(load: DnsLoad) -> Snapshot:
    return simulate_dns(load).snapshot
