"""Fixes that take the queries off TCP, or take the server out of the path."""

from __future__ import annotations

from jitterscope.diagnosis.areas.dns import settings
from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.fixes import pool
from jitterscope.diagnosis.areas.dns.fixes.connections import VERIFY, without_limit
from jitterscope.diagnosis.areas.dns.readings.path import Edge, PathGraph
from jitterscope.diagnosis.core.finding import Fix, Found, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, Unseen
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map
from jitterscope.diagnosis.programs import versions as dns_versions

FORWARD = "https://coredns.io/plugins/forward/"
NODELOCAL = "https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/"
GKE_NODELOCAL = "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/nodelocal-dns-cache"
GKE_CLOUD_DNS = "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/cloud-dns"
COREDNS_LIKE = ("coredns", "node-cache")


def askers_of(graph: PathGraph, servers: tuple[ResourceView, ...]) -> list[tuple[Edge, ResourceView]]:
    """The CoreDNS-like servers of this node that ask one of these."""
    pairs = [(edge, graph.servers[edge.asker]) for server in servers for edge in graph.askers_of(server.id)]
    return [pair for pair in pairs if pair[1].fact("dns.software") in COREDNS_LIKE]


def prefer_udp(snapshot: Snapshot, graph: PathGraph, servers: tuple[ResourceView, ...], found: Found) -> Fix | None:
    """None where the servers in front are known and none of them is a CoreDNS."""
    askers = askers_of(graph, servers)
    if not askers and any(graph.askers_of(server.id) for server in servers):
        return None
    gate = dns_versions.COREDNS_PREFER_UDP
    base = {
        "id": "prefer_udp",
        "title": "Use UDP instead of TCP in front of it (prefer_udp, without force_tcp)",
        "verify": "dns_tcp_connections falls to nearly 0. " + VERIFY,
        "undo": "Restore force_tcp instead of prefer_udp and reload.",
        "references": [FORWARD, gate.source, NODELOCAL],
    }
    edge, asker = askers[0] if askers else (None, None)
    if asker is not None and gate.open(dns_versions.of_server(asker, "coredns")) is False:
        return Fix(
            **base, verdict="cannot_help", summary=f"Cannot help: no prefer_udp before CoreDNS {gate.since_text}."
        )
    forced = edge is not None and edge.upstream is not None and edge.upstream.force_tcp
    if edge is not None and edge.upstream is not None and edge.upstream.prefer_udp and not forced:
        return None
    target = f"{edge.address}" if edge is not None else "ADDRESS"
    removed = "-    force_tcp\n" if forced or edge is None else ""
    who = f"the CoreDNS at {asker.key}" if asker is not None else "the servers in front"
    return Fix(
        **base,
        verdict="removes",
        summary=f"Every query from {who} goes over TCP. dnsmasq answers UDP itself, without child processes and "
        "without this limit. force_tcp must go: it takes precedence over prefer_udp.",
        predicted=without_limit(found),
        precondition=None
        if asker is not None
        else "Works only if the servers in front are CoreDNS or node-local-dns with force_tcp.",
        patches=config_map.with_command(
            snapshot,
            asker,
            pool.without_tcp(asker),
            Patch(
                label="Corefile (ConfigMap node-local-dns, the zones that are forwarded here)",
                language="diff",
                text=f" forward . {target} {{\n{removed}+    prefer_udp\n }}",
            ),
        ),
        caveats=[
            "NodeLocal DNSCache uses TCP so that a datagram lost on the way (conntrack races) does not cost the "
            "client a 5 s timeout: watch dns_timeouts.",
            "On GKE the add-on owns the ConfigMap and can reset it.",
        ],
    )


def without_nodelocal(
    snapshot: Snapshot, graph: PathGraph, servers: tuple[ResourceView, ...], found: Found
) -> Fix | None:
    """Where NodeLocal DNSCache is seen in front of it."""
    nodelocal = [view for _, view in askers_of(graph, servers) if _is_nodelocal(view)]
    if not nodelocal:
        return None
    is_gke = dns_versions.gke(snapshot) is not None
    text = (
        "gcloud container clusters update CLUSTER --update-addons=NodeLocalDNS=DISABLED"
        if is_gke
        else "kubectl -n kube-system delete daemonset node-local-dns"
    )
    return Fix(
        id="disable_nodelocal",
        title="Disable NodeLocal DNSCache",
        summary="Pods then query kube-dns directly over UDP, which needs no children. The node loses its cache, so "
        "kube-dns gets more queries.",
        verdict="removes",
        predicted=without_limit(found),
        precondition="Works only on a Standard cluster: on Autopilot it cannot be disabled."
        if is_gke
        else "Works only if the kubelet's clusterDNS is the Service's address: with kube-proxy in IPVS mode it is "
        "169.254.20.10, and pods would be left without DNS.",
        patches=[Patch(label="gcloud (replaces the nodes)" if is_gke else "kubectl", language="shell", text=text)],
        caveats=[
            "Queries between nodes go through conntrack again: its races lose datagrams, and each costs 5 s.",
        ],
        verify="dns_tcp_connections falls to nearly 0. " + VERIFY,
        undo=text.replace("DISABLED", "ENABLED") if is_gke else "Apply the manifest of node-local-dns again.",
        references=[GKE_NODELOCAL if is_gke else NODELOCAL],
    )


def _is_nodelocal(server: ResourceView) -> bool:
    return server.fact("dns.software") == "node-cache" or server.key.startswith("169.254.20.10:")


def cloud_dns(snapshot: Snapshot, found: Found) -> Fix | None:
    """On GKE alone."""
    version = dns_versions.gke(snapshot)
    if version is None:
        return None
    return Fix(
        id="cloud_dns",
        title="Use Cloud DNS for GKE instead of kube-dns",
        summary="Cloud DNS then answers cluster names through the metadata server of each node: kube-dns, dnsmasq, "
        "and its limits are no longer in the path. NodeLocal DNSCache can stay.",
        verdict="removes",
        predicted=without_limit(found),
        precondition="Works only on a Standard cluster (Autopilot has it already) that does not rely on changed "
        "kube-dns settings.",
        patches=[
            Patch(
                label="gcloud; then replace the nodes of every pool",
                language="shell",
                text="gcloud container clusters update CLUSTER --cluster-dns=clouddns --cluster-dns-scope=cluster\n"
                "gcloud container clusters upgrade CLUSTER --node-pool=POOL",
            )
        ],
        caveats=[
            "Queries are billed on Standard clusters, the scope cannot be changed later, and kube-dns keeps running "
            "until it is scaled to zero.",
            "Pods use it only on nodes created after the change.",
        ],
        verify="The queries of kube-dns's dnsmasq fall to nearly 0. " + VERIFY,
        undo="gcloud container clusters update CLUSTER --cluster-dns=default, then replace the nodes again.",
        references=[GKE_CLOUD_DNS, "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-cloud-dns"],
    )


def _takes_udp(before: Facts, after: Facts) -> bool:
    """This server's forward drops force_tcp, or the servers in front do."""
    here = any(up.force_tcp for up in landing.upstreams(before)) and not any(
        up.force_tcp for up in landing.upstreams(after)
    )
    if here:
        return landing.only_corefile(before, after, "forward", ("force_tcp", "prefer_udp"))
    known = "force_tcp" in landing.in_front(after)
    return known and landing.in_front(before).get("force_tcp") is True and not landing.in_front(after)["force_tcp"]


def _without_node_cache(before: Facts, after: Facts) -> bool:
    old, new = landing.software_in_front(before), landing.software_in_front(after)
    return old is not None and new is not None and "node-cache" in old and "node-cache" not in new


_OFF_TCP = ("connections_short_ratio", "overdue_ratio", "failed_ratio", "accept_backlog", "tcp_connections")
FIXES = (
    FixKind(
        id="prefer_udp",
        title="Use UDP instead of TCP (prefer_udp)",
        precondition="CoreDNS 1.2.0 or later in front, with force_tcp.",
        landing=landing.in_corefile(
            "forward of the server in front no longer has force_tcp: in its own Corefile if that server is diagnosed, "
            "otherwise among the DNS servers of the node that query this one.",
            _takes_udp,
            settings.IN_FRONT,
        ),
        measures=_OFF_TCP,
        lab="nodelocal-dnsmasq --apply prefer_udp",
    ),
    FixKind(
        id="disable_nodelocal",
        title="Disable NodeLocal DNSCache",
        precondition="A cluster where it can be disabled: not GKE Autopilot, not kube-proxy in IPVS mode.",
        landing=Seen(
            "No node-cache of this node queries this server any more, and clients still do.",
            (settings.IN_FRONT, settings.RESOLV_CONF),
            _without_node_cache,
        ),
        measures=_OFF_TCP,
    ),
    FixKind(
        id="cloud_dns",
        title="Use Cloud DNS for GKE instead of kube-dns",
        precondition="A Standard cluster of GKE.",
        landing=Unseen(
            "Pods use Cloud DNS only on nodes created after the change, and pods of another node are not clients of "
            "this server: here the queries only become fewer, as they do when load falls."
        ),
        measures=_OFF_TCP,
    ),
)
