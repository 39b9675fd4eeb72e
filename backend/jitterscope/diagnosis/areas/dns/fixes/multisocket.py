"""Fixes for one socket that is read too slowly: several sockets, several servers, room in the queue."""

from __future__ import annotations

import math
import shlex

from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.core import owners, patches
from jitterscope.diagnosis.core.finding import Fix, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen, changed
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.diagnosis.programs import config_map, corefile
from jitterscope.diagnosis.programs import versions as dns_versions

MULTISOCKET = "https://coredns.io/plugins/multisocket/"
REUSEPORT = "https://man7.org/linux/man-pages/man7/socket.7.html"
UNBOUND = "https://nlnetlabs.nl/documentation/unbound/unbound.conf/"
NODELOCAL = "https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/"
UDP = "https://man7.org/linux/man-pages/man7/udp.7.html"
VERIFY = "The wait in the receive queue falls below 1 ms at the same rate, and drops stop."


def propose(snapshot: Snapshot, cpus: float, drops: float) -> list[Fix]:
    """`cpus` that the server may use at once; `drops` datagrams found the queue full."""
    server = next((view for view in snapshot.dns_servers if view.fact("dns.udp_sockets") == "1"), None)
    if server is None:
        return []
    found = [_sockets(snapshot, server, max(2, math.floor(cpus))), _servers(snapshot, server), _buffer(drops)]
    return [fix for fix in found if fix is not None]


def _sockets(snapshot: Snapshot, server: ResourceView, count: int) -> Fix | None:
    software = server.fact("dns.software")
    if software == "coredns":
        return _coredns(snapshot, server, count)
    if software == "unbound":
        return Fix(
            id="so_reuseport",
            title=f"Run {count} threads with a socket each",
            summary="With so-reuseport, Unbound opens one socket per thread.",
            verdict="reduces",
            patches=[
                Patch(
                    label="unbound.conf, server:",
                    language="diff",
                    text=f"+    num-threads: {count}\n+    so-reuseport: yes",
                )
            ],
            verify=VERIFY,
            undo="Restore num-threads.",
            references=[UNBOUND, REUSEPORT],
        )
    if software == "dnsmasq":
        return Fix(
            id="multisocket",
            title="Open more sockets in dnsmasq",
            summary="Cannot help: dnsmasq answers UDP in a single thread, whatever it listens on.",
            verdict="cannot_help",
            verify="-",
            undo="-",
            references=["https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html"],
        )
    return None


def _coredns(snapshot: Snapshot, server: ResourceView, count: int) -> Fix:
    gate = dns_versions.COREDNS_MULTISOCKET
    has = gate.open(dns_versions.of_server(server, "coredns"))
    blocks = corefile.of(server)
    keys = f" ({' '.join(blocks[0].keys)})" if blocks else ""
    where = f"Corefile, first block of this port{keys}"
    if has is False:
        return Fix(
            id="multisocket",
            title=f"multisocket {count}",
            summary=f"Cannot help: no multisocket before CoreDNS {gate.since_text}, and this is "
            f"{server.fact('dns.version')}. CoreDNS refuses to start with a plugin that it does not know.",
            verdict="cannot_help",
            verify=VERIFY,
            undo="Nothing to undo.",
            references=[MULTISOCKET, gate.source, REUSEPORT],
        )
    return Fix(
        id="multisocket",
        title=f"multisocket {count}",
        summary=f"CoreDNS opens {count} sockets with SO_REUSEPORT, each with its own reader, and the kernel spreads "
        "the clients' ports over them. Without a number it uses GOMAXPROCS.",
        verdict="reduces",
        precondition=None if has else f"Requires CoreDNS {gate.since_text} or later: an older one refuses to start.",
        patches=config_map.multisocket(snapshot, server, count, label=where),
        caveats=[
            "Only the first server block of an address and port decides; later ones are ignored.",
            "More readers use more CPUs at once: with a CPU limit, this can cause throttling.",
            "A client that sends everything from one port stays on one socket.",
        ],
        verify=VERIFY,
        undo="Remove the line and restart CoreDNS.",
        references=[MULTISOCKET, gate.source, REUSEPORT],
    )


def _servers(snapshot: Snapshot, server: ResourceView) -> Fix | None:
    if patches.manager(snapshot) != "kubernetes":
        return None
    owner = owners.of(snapshot)
    if not owner.can_scale:
        return None
    space = shlex.quote(snapshot.subject.fact("workload.namespace") or "NAMESPACE")
    return Fix(
        id="scale_out",
        title="Double the replicas or add a cache on each node",
        summary="Each replica has its own socket. NodeLocal DNSCache answers most queries before they reach this "
        "server.",
        verdict="reduces",
        precondition="The clients spread over the replicas (a Service does so per connection or UDP flow).",
        patches=[
            Patch(
                label="kubectl",
                language="shell",
                text=f"kubectl -n {space} scale {owner} --replicas=$(( 2 * $(kubectl -n {space} get {owner} "
                "-o jsonpath='{.spec.replicas}') ))",
            )
        ],
        caveats=["If an autoscaler sets the number of replicas, change it there: it resets this one."]
        + (
            ["NodeLocal DNSCache queries dnsmasq over TCP, which serves 20 concurrent connections."]
            if server.fact("dns.software") == "dnsmasq"
            else []
        ),
        verify=VERIFY,
        undo="Scale back to the previous number of replicas.",
        references=[NODELOCAL, "https://kubernetes.io/docs/tasks/administer-cluster/dns-horizontal-autoscaling/"],
    )


def _buffer(drops: float) -> Fix | None:
    if drops <= 0:
        return None
    return Fix(
        id="receive_buffer",
        title="Enlarge the receive buffer",
        summary=f"{drops:,.0f} datagrams found the queue full. More room turns lost queries into late ones; it does "
        "not make the reader faster.",
        verdict="reduces",
        patches=[
            Patch(
                label="On the node, as root; for sockets opened afterwards",
                language="shell",
                text="sysctl -w net.core.rmem_default=1048576 net.core.rmem_max=1048576",
            )
        ],
        caveats=["Applies to every socket on the node that does not set its own size."],
        verify="dns_socket_drops stays 0.",
        undo="sysctl -w net.core.rmem_default=212992 net.core.rmem_max=212992",
        references=[UDP, REUSEPORT],
    )


def _more_sockets(before: Facts, after: Facts) -> bool:
    by_plugin = landing.only_corefile(before, after, "multisocket") and bool(landing.plugins(after, "multisocket"))
    same = not changed(before, after, "dns.corefile") and not changed(before, after, "dns.corefile_parsed")
    return by_plugin or (same and landing.rises(before, after, "dns.udp_sockets"))


_UNREAD = ("unread_ratio", "unread_ms", "socket_drops_ratio", "timeout_ratio", "slow_ratio")
FIXES = (
    FixKind(
        id="multisocket",
        title="Open several UDP sockets (CoreDNS multisocket)",
        precondition="CoreDNS 1.12.0 or later.",
        landing=landing.in_corefile(
            "The Corefile gets multisocket or a different number for it, or the server listens on more UDP sockets.",
            _more_sockets,
            "dns.udp_sockets",
        ),
        measures=_UNREAD,
        lab="dns-forward --variant one-socket --apply multisocket",
    ),
    FixKind(
        id="so_reuseport",
        title="Run more threads of Unbound with a socket each",
        precondition="Unbound.",
        landing=Seen(
            "Unbound listens on more UDP sockets.",
            ("dns.udp_sockets",),
            lambda before, after: landing.rises(before, after, "dns.udp_sockets"),
        ),
        measures=_UNREAD,
    ),
    FixKind(
        id="scale_out",
        title="Run more replicas of the DNS server, or a cache on each node",
        precondition="Clients spread over the replicas.",
        landing=Seen(
            "The number of replicas of the cluster's DNS rises, if the collector can query the API server.",
            ("kube.cluster_size", "kube.dns_autoscaler"),
            lambda before, after: landing.replicas_ratio(before, after) > 1,
            landing.replicas_ratio,
        ),
        measures=_UNREAD,
    ),
    FixKind(
        id="receive_buffer",
        title="Enlarge the receive buffer",
        precondition="Drops in a full receive queue.",
        landing=landing.LARGER_BUFFER,
        measures=("socket_drops_ratio", "timeout_ratio", *_UNREAD[:2]),
    ),
)
