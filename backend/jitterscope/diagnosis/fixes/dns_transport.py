"""Fixes that take the queries off TCP, or take the server out of the path."""

from __future__ import annotations

from jitterscope.diagnosis import dns_versions
from jitterscope.diagnosis.dns_path import Edge, PathGraph
from jitterscope.diagnosis.finding import Fix, Found, Interval, Patch
from jitterscope.diagnosis.fixes import predict
from jitterscope.diagnosis.fixes.dns_connections import VERIFY
from jitterscope.diagnosis.snapshot import ResourceView, Snapshot

FORWARD = "https://coredns.io/plugins/forward/"
NODELOCAL = "https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/"
GKE_NODELOCAL = "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/nodelocal-dns-cache"
GKE_CLOUD_DNS = "https://docs.cloud.google.com/kubernetes-engine/docs/how-to/cloud-dns"
COREDNS_LIKE = ("coredns", "node-cache")


def _gone(found: Found) -> Interval | None:
    """Without TCP none of the waits remain; what UDP may lose instead is not known: up to a tenth."""
    inside = next((int(item.numbers["hits"]) for item in found.evidence if item.id == "slow_in_stalls"), 0)
    return predict.scaled(found.impact, inside, 0.0, 0.0, 0.1)


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
        "title": "UDP instead of TCP in front of it (prefer_udp, without force_tcp)",
        "verify": "dns_tcp_connections falls to nearly 0. " + VERIFY,
        "undo": "Put force_tcp back in place of prefer_udp and reload.",
        "references": [FORWARD, gate.source, NODELOCAL],
    }
    edge, asker = askers[0] if askers else (None, None)
    if asker is not None and gate.open(dns_versions.of_server(asker, "coredns")) is False:
        return Fix(
            **base, verdict="cannot_help", summary=f"forward has prefer_udp from CoreDNS {gate.since_text} on only."
        )
    forced = edge is not None and edge.upstream is not None and edge.upstream.force_tcp
    if edge is not None and edge.upstream is not None and edge.upstream.prefer_udp and not forced:
        return None
    target = f"{edge.address}" if edge is not None else "ADDRESS"
    removed = "-    force_tcp\n" if forced or edge is None else ""
    who = f"The CoreDNS at {asker.key}" if asker is not None else "The servers in front"
    return Fix(
        **base,
        verdict="removes",
        summary=f"{who} turns every query into one on TCP. dnsmasq answers UDP itself, without children and without "
        "this limit. force_tcp must go: it takes precedence over prefer_udp.",
        predicted_slow_ratio=_gone(found),
        precondition=None if asker is not None else "The servers in front are CoreDNS or node-local-dns with force_tcp",
        patches=[
            Patch(
                label="Corefile (ConfigMap node-local-dns, the zones that are forwarded here)",
                language="diff",
                text=f" forward . {target} {{\n{removed}+    prefer_udp\n }}",
            )
        ],
        caveats=[
            "NodeLocal DNSCache uses TCP so that a datagram lost on its way (conntrack races) does not cost the "
            "client a 5 s time-out: watch dns_timeouts.",
            "On GKE the add-on owns the ConfigMap and may set it back.",
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
        title="Without NodeLocal DNSCache",
        summary="Pods then ask kube-dns by UDP themselves, which needs no children. The cache on the node goes with "
        "it, so kube-dns gets more queries.",
        verdict="removes",
        predicted_slow_ratio=_gone(found),
        precondition="A Standard cluster: on Autopilot it cannot be switched off"
        if is_gke
        else "The kubelet's clusterDNS is the Service's address: with kube-proxy in IPVS mode it is 169.254.20.10, and "
        "pods would be left without DNS",
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
        title="Cloud DNS for GKE in place of kube-dns",
        summary="Names of the cluster are then answered by Cloud DNS through the metadata server of each node: no "
        "kube-dns, no dnsmasq and none of its limits in the path. NodeLocal DNSCache can stay.",
        verdict="removes",
        predicted_slow_ratio=_gone(found),
        precondition="A Standard cluster (Autopilot has it already) without reliance on changed kube-dns settings",
        patches=[
            Patch(
                label="gcloud; then replace the nodes of every pool",
                language="shell",
                text="gcloud container clusters update CLUSTER --cluster-dns=clouddns --cluster-dns-scope=cluster\n"
                "gcloud container clusters upgrade CLUSTER --node-pool=POOL",
            )
        ],
        caveats=[
            "Queries are billed on Standard clusters, the scope cannot be changed later, and kube-dns goes on running "
            "until it is scaled to zero.",
            "Pods use it only on nodes that were made after the change.",
        ],
        verify="The queries of kube-dns's dnsmasq fall to nearly 0. " + VERIFY,
        undo="gcloud container clusters update CLUSTER --cluster-dns=default, then replace the nodes again.",
        references=[GKE_CLOUD_DNS, "https://docs.cloud.google.com/kubernetes-engine/docs/concepts/about-cloud-dns"],
    )
