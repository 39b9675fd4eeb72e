"""Fixes for CoreDNS's pool of connections to its upstreams."""

from __future__ import annotations

import math

from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.readings.path import PathGraph
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import cluster_autoscaler as dns_autoscaler
from jitterscope.diagnosis.programs import config_map
from jitterscope.diagnosis.programs import versions as dns_versions
from jitterscope.diagnosis.programs.config_map import Edit

FORWARD = "https://coredns.io/plugins/forward/"
VERIFY = "Idle connections (dns_upstream_idle, dns_tcp_idle) become few, and the accept queue stays empty."


def max_idle(snapshot: Snapshot, server: ResourceView | None, limit: float | None) -> Fix:
    """Bounds the pool; `limit` are the connections of the server behind, shared by all nodes (None: not known)."""
    gate = dns_versions.COREDNS_MAX_IDLE
    allowed = gate.open(dns_versions.of_server(server, "coredns")) if server is not None else None
    number = _share(snapshot, limit)
    base = {
        "id": "max_idle_conns",
        "title": f"Limit idle connections (max_idle_conns {number})",
        "verify": VERIFY,
        "undo": "Remove the line and reload.",
        "references": [FORWARD, gate.source],
    }
    if allowed is False:
        return Fix(
            **base, verdict="cannot_help", summary=f"Cannot help: no max_idle_conns before CoreDNS {gate.since_text}."
        )
    return Fix(
        **base,
        verdict="reduces",
        summary=f"After a burst each CoreDNS keeps {number} idle connections to each upstream and closes the others "
        "immediately. It does not limit how many a burst opens.",
        precondition=None if allowed else f"Requires CoreDNS {gate.since_text} or later in front.",
        patches=config_map.with_command(
            snapshot,
            server,
            _forward(server, {"max_idle_conns": number}),
            _in_forward(f"max_idle_conns {number}"),
        ),
        caveats=["More queries open a new connection, which costs a round trip each."],
    )


def _forward(server: ResourceView | None, values: dict[str, str | int | None]) -> list[Edit]:
    return [] if server is None else config_map.options(server, "forward", values)


def _in_forward(text: str) -> Patch:
    return Patch(label="In forward", language="corefile", text=text)


def _share(snapshot: Snapshot, limit: float | None) -> int:
    """Each node's part of all replicas' connections; 2 where the cluster is not known."""
    cluster = dns_autoscaler.cluster(snapshot)
    if cluster is None or limit is None or not cluster.replicas:
        return 2
    return max(1, math.floor(limit * cluster.replicas / cluster.nodes))


def expire(snapshot: Snapshot, server: ResourceView | None, expire_s: float | None) -> Fix | None:
    """A shorter expire: works only where the clean-up follows it."""
    gate = dns_versions.COREDNS_CLEANS_EVERY_10_S
    late = gate.open(dns_versions.of_server(server, "coredns")) if server is not None else None
    now = f"{expire_s:g} s" if expire_s is not None else "10 s (the default)"
    if late is not False:
        return Fix(
            id="shorter_expire",
            title="Shorten expire",
            summary=f"Cannot help: expire is {now}, but since CoreDNS {gate.since_text} idle connections are cleaned "
            "up only every 10 s. expire decides which of them are not reused, not when they are closed.",
            verdict="cannot_help",
            verify=VERIFY,
            undo="Nothing to undo.",
            references=[gate.source, FORWARD],
        )
    if expire_s is not None and expire_s <= 1:
        return None
    return Fix(
        id="shorter_expire",
        title="Shorten expire to 1s",
        summary=f"expire is {now}. Before CoreDNS {gate.since_text} idle connections are cleaned up every expire, so "
        "with 1s they are closed after 2 s at most.",
        verdict="reduces",
        patches=config_map.with_command(
            snapshot,
            server,
            _forward(server, {"expire": "1s"}),
            _in_forward("expire 1s"),
        ),
        caveats=[f"From CoreDNS {gate.since_text} on this no longer works: the clean-up then runs every 10 s."],
        verify=VERIFY,
        undo="Remove the line and reload.",
        references=[gate.source, FORWARD],
    )


def prefer_udp_here(snapshot: Snapshot, graph: PathGraph, server: ResourceView) -> Fix | None:
    """Where this server itself forces TCP."""
    edge = next((e for e in graph.upstreams_of(server.id) if e.upstream is not None and e.upstream.force_tcp), None)
    if edge is None:
        return None
    gate = dns_versions.COREDNS_PREFER_UDP
    if gate.open(dns_versions.of_server(server, "coredns")) is False:
        return None
    return Fix(
        id="prefer_udp",
        title="Use UDP instead of TCP (prefer_udp, no force_tcp)",
        summary="Without TCP there is no connection to open or keep. force_tcp must go: it takes precedence over "
        "prefer_udp.",
        verdict="removes",
        patches=config_map.with_command(
            snapshot,
            server,
            without_tcp(server),
            Patch(
                label=f"Corefile, zone {edge.zone}",
                language="diff",
                text=f" forward . {edge.address} {{\n-    force_tcp\n+    prefer_udp\n }}",
            ),
        ),
        caveats=["A lost datagram costs the query 2 s; TCP hides such losses."],
        verify=VERIFY,
        undo="Restore force_tcp instead of prefer_udp and reload.",
        references=[FORWARD, gate.source],
    )


def without_tcp(server: ResourceView | None) -> list[Edit]:
    """prefer_udp instead of force_tcp, where that is set."""
    if server is None:
        return []
    return config_map.options(server, "forward", {"prefer_udp": None}, without=("force_tcp",), only_with="force_tcp")


def _expires_sooner(before: Facts, after: Facts) -> bool:
    old, new = (landing.seconds(landing.option(facts, "forward", "expire")) for facts in (before, after))
    return new is not None and new < (old or 10.0) and landing.only_corefile(before, after, "forward", ("expire",))


_POOL = ("idle_connections", "accept_backlog", "connections_short_ratio", "overdue_ratio", "failed_ratio")
FIXES = (
    FixKind(
        id="max_idle_conns",
        title="Limit idle connections (max_idle_conns)",
        precondition="CoreDNS 1.14.1 or later in front of the server whose connections stay idle.",
        landing=landing.in_corefile(
            "forward in the Corefile gets max_idle_conns, or a different number for it.",
            landing.sets("forward", "max_idle_conns"),
        ),
        measures=_POOL,
    ),
    FixKind(
        id="shorter_expire",
        title="Shorten expire",
        precondition="CoreDNS before 1.7.1: later versions clean up idle connections only every 10 s.",
        landing=landing.in_corefile("expire of forward in the Corefile becomes shorter.", _expires_sooner),
        measures=_POOL,
    ),
)
