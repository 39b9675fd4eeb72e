"""Fixes: a dnsmasq that may serve more TCP connections, and the releases in which the limit is gone."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.readings import tcp_limit as dns_tcp_limit
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import Demand, TcpLimit
from jitterscope.diagnosis.core import owner_commands, owners, patches, predicted
from jitterscope.diagnosis.core.finding import Fix, Found, Interval, Patch, predictions
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.late import TIMES_USUAL
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import versions as dns_versions

VERIFY = (
    "The children stay below the limit and dns_accept_backlog stays 0 under the same load. This incident closes when "
    "no connection waits in a window."
)
SPARE = 1.25
MANAGED = (
    "Cannot help on GKE: kube-dns is managed and its arguments are reset. Only a Deployment of your own can have other "
    "arguments"
)


def wanted_limit(tcp: TcpLimit, demand: Demand | None) -> int:
    """A limit with which a query finds a child 99.9 % of the time, a quarter to spare, in tens."""
    seen = np.nanmax(np.where(np.isfinite(tcp.connections), tcp.connections, tcp.children))
    need = dns_tcp_limit.headroom(demand.high) if demand is not None else 2 * tcp.now
    return int(math.ceil(SPARE * max(need, float(seen)) / 10) * 10)


def after(found: Found, low: float, expected: float, high: float) -> dict[str, Interval]:
    """Predictions when so much of the shortage remains, 0..1 (90 %).

    Where an answer that waits for nothing takes over 20 ms, how many do is no matter of connections.
    """
    seen = next((item.numbers for item in found.evidence if item.id == "slow_in_stalls"), None)
    if seen is None:
        return {}
    short, told = seen["chance_ratio"], seen["late_us"] < TIMES_USUAL * SLOW_US
    return predictions(
        connections_short_ratio=Interval(low=low * short, expected=expected * short, high=high * short),
        slow_ratio=predicted.remaining(found, "slow_in_stalls", low, expected, high) if told else None,
    )


def without_limit(found: Found) -> dict[str, Interval]:
    """Where nothing needs a connection any more, none of the waits remain; up to a tenth for what is not known."""
    return after(found, 0.0, 0.0, 0.1)


def with_limit(
    found: Found, demand: Demand | None, limit: float, share: float = 1.0, unknown: float = 0.0
) -> dict[str, Interval]:
    """Where the demand (this share of it) meets another limit: queries wait as Erlang C says.

    At most, `unknown` (0..1) of the shortage remains for other reasons.
    """
    if demand is None:
        return {}
    wanted = (demand.low, demand.expected, demand.high)
    low, expected, high = (round(dns_tcp_limit.waiting_ratio(share * each, limit), 6) for each in wanted)
    return after(found, low, expected, max(high, unknown))


def is_managed_by_gke(snapshot: Snapshot) -> bool:
    subject = snapshot.subject
    owner = (subject.fact("workload.owner") or "") + (subject.fact("workload.pod") or "")
    return dns_versions.gke(snapshot) is not None and "kube-dns" in owner


def max_tcp_connections(snapshot: Snapshot, tcp: TcpLimit, demand: Demand | None, found: Found) -> Fix:
    gate = dns_versions.DNSMASQ_MAX_TCP
    version = dns_versions.of_server(tcp.servers[0], "dnsmasq")
    allowed = gate.open(version)
    limit = wanted_limit(tcp, demand)
    base = {
        "id": "max_tcp_connections",
        "title": f"--max-tcp-connections={limit}",
        "verify": VERIFY,
        "undo": "Remove the option and restart dnsmasq."
        if tcp.now == dns_tcp_limit.DEFAULT_LIMIT
        else f"Restore the limit of {tcp.now:,.0f} and restart dnsmasq.",
        "references": [gate.source, "https://thekelleys.org.uk/dnsmasq/docs/dnsmasq-man.html"],
    }
    if allowed is False:
        text = ".".join(map(str, version or ()))
        return Fix(
            **base, verdict="cannot_help",
            summary=f"Cannot help: dnsmasq {text} does not know this option and would not start with it. Before "
            f"{gate.since_text} the limit of 20 is compiled in.",
        )  # fmt: skip
    if is_managed_by_gke(snapshot):
        return Fix(**base, verdict="cannot_help", summary=f"{MANAGED}.")
    need = (
        f"{demand.expected:,.0f} connections (up to {demand.high:,.0f})" if demand is not None else "more connections"
    )
    return Fix(
        **base,
        verdict="removes",
        summary=f"The load needs {need}; with {limit} of them a query finds a free child 99.9 % of the time.",
        predicted=with_limit(found, demand, limit),
        precondition=None if allowed else f"Requires dnsmasq {gate.since_text} or later (its version is not known).",
        patches=_patches(snapshot, limit),
        caveats=[
            "Each connection is a forked process: check the memory limit and pids.max of the container.",
            "dnsmasq restarts and loses its cache.",
        ],
    )


def _patches(snapshot: Snapshot, limit: int) -> list[Patch]:
    kind = patches.manager(snapshot)
    if kind == "kubernetes":
        text = f"args:\n# … the arguments as they are, then, behind the --:\n- --max-tcp-connections={limit}"
        return [Patch(label="Container dnsmasq of the Deployment", language="yaml", text=text)]
    if kind == "systemd":
        text = f"echo max-tcp-connections={limit} > /etc/dnsmasq.d/jitterscope.conf && systemctl restart dnsmasq"
        return [Patch(label="As root, where /etc/dnsmasq.d is read", language="shell", text=text)]
    return [Patch(label="Argument of dnsmasq", language="shell", text=f"dnsmasq --max-tcp-connections={limit} …")]


def newer_kubernetes_dns(snapshot: Snapshot) -> Fix | None:
    """Where the image is an older kubernetes/dns: the release that brings dnsmasq 2.90."""
    gate = dns_versions.KUBERNETES_DNS_DNSMASQ_290
    version = dns_versions.kubernetes_dns(snapshot)
    if gate.open(version) is not False or is_managed_by_gke(snapshot):
        return None
    image = snapshot.subject.fact("workload.image") or ""
    newer = f"{image.rpartition(':')[0]}:{gate.since_text}"
    upgrade, undo = _upgrade(snapshot, image, newer)
    return Fix(
        id="newer_kubernetes_dns",
        title=f"kubernetes/dns {gate.since_text} or later, with --max-tcp-connections",
        summary=f"From {gate.since_text} on it includes dnsmasq 2.90, which has --max-tcp-connections. The upgrade "
        "alone changes nothing: the default stays 20.",
        verdict="unknown",
        precondition="Works only if the option is set as well.",
        patches=[upgrade],
        caveats=["Upgrade the containers of the pod (kubedns, dnsmasq, sidecar) together."],
        verify=VERIFY,
        undo=undo,
        references=[gate.source],
    )


def _upgrade(snapshot: Snapshot, old: str, new: str) -> tuple[Patch, str]:
    """Another image of the container, and how to undo it."""
    owner = owners.of(snapshot)
    if not owner.is_built_in:
        undo = owner_commands.container_undo(snapshot, {"image": old})
        return owner_commands.container_patch(snapshot, {"image": new}), undo
    namespace = snapshot.subject.fact("workload.namespace") or "kube-system"
    head = f"kubectl -n {namespace} set image {owner} {snapshot.subject.fact('workload.container') or 'dnsmasq'}="
    return Patch(label=f"kubectl ({owner.effect})", language="shell", text=head + new), head + old


def newer_gke(snapshot: Snapshot, found: Found) -> Fix | None:
    """Where it is GKE before its kube-dns runs on CoreDNS: the upgrade alone removes the limit."""
    gate = dns_versions.GKE_KUBE_DNS_ON_COREDNS
    version = dns_versions.gke(snapshot)
    if gate.open(version) is not False or not is_managed_by_gke(snapshot):
        return None
    return Fix(
        id="newer_gke",
        title=f"GKE {gate.since_text} or later",
        summary=f"From {gate.since_text} on kube-dns runs CoreDNS, which needs no process per connection and has no "
        f"limit of {dns_tcp_limit.DEFAULT_LIMIT:,.0f}. This cluster runs {'.'.join(map(str, version or ()))}.",
        verdict="removes",
        predicted=without_limit(found),
        patches=[
            Patch(
                label="gcloud: the control plane, then the node pools",
                language="shell",
                text=f"gcloud container clusters upgrade CLUSTER --master --cluster-version={gate.since_text}\n"
                "gcloud container clusters upgrade CLUSTER --node-pool=POOL",
            )
        ],
        caveats=["Upgrades go one minor version at a time and replace the nodes."],
        verify="The pods of kube-dns no longer have a dnsmasq container. " + VERIFY,
        undo="Not possible: a control plane cannot be downgraded to an earlier minor version.",
        references=[gate.source],
    )


def _newer_image(before: Facts, after: Facts) -> bool:
    old, new = (dns_versions.kubernetes_dns_image(facts.get("workload.image")) for facts in (before, after))
    gate = dns_versions.KUBERNETES_DNS_DNSMASQ_290
    return gate.open(old) is False and gate.open(new) is True


def _newer_cluster(before: Facts, after: Facts) -> bool:
    old, new = (dns_versions.gke_version(facts.get("kube.server_version")) for facts in (before, after))
    gate = dns_versions.GKE_KUBE_DNS_ON_COREDNS
    return gate.open(old) is False and gate.open(new) is True


_CONNECTIONS = ("connections_short_ratio", "overdue_ratio", "failed_ratio", "accept_backlog")
_OF_DNSMASQ = ("dns.child_limit", "dns.arguments", "dns.version")
FIXES = (
    FixKind(
        id="max_tcp_connections",
        title="Raise --max-tcp-connections of dnsmasq",
        precondition="dnsmasq 2.90 or later that is not managed by GKE.",
        landing=Seen(
            "dnsmasq's limit of concurrent TCP connections rises, and dnsmasq restarts with the new argument.",
            ("dns.child_limit", "dns.arguments"),
            lambda before, after: landing.rises(before, after, "dns.child_limit"),
        ),
        measures=_CONNECTIONS,
        lab="nodelocal-dnsmasq --apply max_tcp_connections",
    ),
    FixKind(
        id="newer_kubernetes_dns",
        title="Upgrade kubernetes/dns, with --max-tcp-connections",
        precondition="An image of kubernetes/dns before 1.23.0 that is not managed by GKE.",
        landing=Seen(
            "The image of kubernetes/dns becomes 1.23.0 or later; dnsmasq's version and arguments change with it.",
            ("workload.image", *_OF_DNSMASQ),
            _newer_image,
        ),
        measures=_CONNECTIONS,
    ),
    FixKind(
        id="newer_gke",
        title="Upgrade GKE to 1.36 or later",
        precondition="GKE before 1.36 with kube-dns.",
        landing=Seen(
            "The API server of GKE becomes 1.36 or later; everything about kube-dns changes with it.",
            (
                "kube.server_version", "workload.image", "dns.software", *_OF_DNSMASQ, *landing.COREFILE,
                "dns.udp_sockets", "dns.negative_cache", "kube.cluster_size", "memory.limit_bytes",
            ),
            _newer_cluster,
        ),
        measures=_CONNECTIONS,
    ),
)  # fmt: skip
