"""Fix: more dnsmasq replicas, with the autoscaler's numbers for this cluster, and when that gets silly."""

from __future__ import annotations

import json
import math

from jitterscope.diagnosis.areas.dns import settings
from jitterscope.diagnosis.areas.dns.fixes import _landing as landing
from jitterscope.diagnosis.areas.dns.fixes import connections as dns_connections
from jitterscope.diagnosis.areas.dns.readings import tcp_limit as dns_tcp_limit
from jitterscope.diagnosis.areas.dns.readings.tcp_limit import Demand, TcpLimit
from jitterscope.diagnosis.core import owners, patches
from jitterscope.diagnosis.core.finding import Fix, Found, Patch
from jitterscope.diagnosis.core.landing import Facts, FixKind, Seen
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.programs import cluster_autoscaler as dns_autoscaler
from jitterscope.diagnosis.programs.cluster_autoscaler import Cluster, Linear

REFERENCES = [
    "https://kubernetes.io/docs/tasks/administer-cluster/dns-horizontal-autoscaling/",
    "https://github.com/kubernetes-sigs/cluster-proportional-autoscaler#linear-mode",
]


# How much of the shortage what clients keep of a peak can leave: a fifteenth did with seven replicas instead of one.
_KEPT = 0.1


def needed(limit: float, wanted: float, replicas: int) -> int:
    """Replicas over which the demand of `replicas` like this one (each `wanted`) fits 99.9 % of the time, and to spare.

    A Service gives each connection to a replica at random, so that each one's share is uneven. Clients keep what a peak
    opened for some time, so without room one moment over the limit is a shortage of seconds.
    """
    each = dns_tcp_limit.load_per_server(limit / dns_connections.SPARE)
    return max(replicas + 1, math.ceil(replicas * wanted / each)) if each > 0 else replicas + 1


def scale(snapshot: Snapshot, tcp: TcpLimit, demand: Demand | None, found: Found) -> Fix | None:
    """None where nobody can make replicas or the demand is not known."""
    if demand is None:
        return None
    cluster, linear = dns_autoscaler.cluster(snapshot), dns_autoscaler.linear(snapshot)
    now = _now(cluster, linear)
    kubernetes = patches.manager(snapshot) == "kubernetes" or cluster is not None
    if now is None and not kubernetes:
        now = 1
    known = now if now is not None else 1
    low, target, high = (needed(tcp.now, wanted, known) for wanted in (demand.low, demand.expected, demand.high))
    silly = _silly(cluster, target, known, demand)
    fits = f"{target} instead of {now}" if now is not None else f"{target} times as many"
    whom = f"each of the {known} running now" if now is not None else "this replica"
    between = f"({demand.low:,.0f} to {demand.high:,.0f})"
    return Fix(
        id="more_replicas",
        title=f"More replicas: {fits}",
        summary=f"{demand.expected:,.0f} connections are needed from {whom} {between}. With {target} replicas ({low} "
        f"to {high}), the uneven share of each stays below {tcp.now / dns_connections.SPARE:,.0f} of {tcp.now:,.0f} "
        f"99.9 % of the time. For bursts as large as this one, the shortage becomes rarer.{silly}",
        verdict="reduces",
        predicted=dns_connections.with_limit(found, demand, tcp.now, known / target, _KEPT),
        precondition=None if kubernetes else "Works only if clients spread over the servers.",
        patches=_patches(snapshot, cluster, linear, target) if kubernetes else [],
        caveats=_caveats(cluster, target),
        verify=dns_connections.VERIFY,
        undo=_undo(snapshot, linear, now),
        references=REFERENCES,
    )


def _now(cluster: Cluster | None, linear: Linear | None) -> int | None:
    if cluster is None:
        return None
    return cluster.replicas or (linear.replicas(cluster.nodes, cluster.cores) if linear is not None else None)


def _silly(cluster: Cluster | None, target: int, now: int, demand: Demand) -> str:
    if cluster is not None and target > cluster.nodes:
        return f" That is {target} pods on {cluster.nodes} nodes, more than one per node, which is unreasonable."
    if target >= 5 * now:
        return (
            f" That is {target / now:.0f} times as many, almost idle between bursts, only because the limit counts "
            "connections and not work: more than is reasonable."
        )
    return ""


def _patches(snapshot: Snapshot, cluster: Cluster | None, linear: Linear | None, target: int) -> list[Patch]:
    if cluster is not None and linear is not None:
        changed = dict(_parameters(linear))
        cores = dns_autoscaler.parameter_for(target, cluster.cores)
        nodes = dns_autoscaler.parameter_for(target, cluster.nodes)
        if cores is None:
            return []
        changed["coresPerReplica"] = cores
        if nodes is not None and linear.nodes_per_replica is None:
            changed["nodesPerReplica"] = nodes
        if linear.maximum is not None and linear.maximum < target:
            changed["max"] = target
        gives = _with(linear, cores, linear.maximum and max(linear.maximum, target)).replicas(
            cluster.nodes, cluster.cores
        )
        return [_config_map(changed, f"ConfigMap kube-dns-autoscaler: {gives} replicas at {cluster.nodes} nodes and "
                            f"{cluster.cores} cores")]  # fmt: skip
    namespace = snapshot.subject.fact("workload.namespace") or "kube-system"
    owner = owners.of(snapshot)
    if not owner.can_scale:
        return []
    return [
        Patch(
            label="kubectl, where no autoscaler sets the number",
            language="shell",
            text=f"kubectl -n {namespace} scale {owner} --replicas={target}"
            if cluster is not None
            else f"kubectl -n {namespace} scale {owner} --replicas=$(( {target} * $(kubectl -n {namespace} get {owner} "
            "-o jsonpath='{.spec.replicas}') ))",
            changes=[] if cluster is None else owners.change(snapshot, {"spec": {"replicas": target}}),
        )
    ]


def _with(linear: Linear, cores: float, maximum: int | None) -> Linear:
    return Linear(cores, linear.nodes_per_replica, linear.minimum, maximum, linear.prevent_single_point)


def _parameters(linear: Linear) -> dict[str, float | int | bool]:
    found: dict[str, float | int | bool] = {}
    if linear.cores_per_replica is not None:
        found["coresPerReplica"] = _whole(linear.cores_per_replica)
    if linear.nodes_per_replica is not None:
        found["nodesPerReplica"] = _whole(linear.nodes_per_replica)
    if linear.minimum > 1:
        found["min"] = linear.minimum
    if linear.maximum is not None:
        found["max"] = linear.maximum
    return found | {"preventSinglePointFailure": linear.prevent_single_point}


def _whole(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _config_map(parameters: dict[str, float | int | bool], label: str) -> Patch:
    inner = json.dumps(json.dumps(parameters, separators=(",", ":")))
    body = f'{{"data":{{"linear":{inner}}}}}'
    return Patch(
        label=label, language="shell",
        text=f"kubectl -n kube-system patch configmap kube-dns-autoscaler --type merge -p '{body}'",
    )  # fmt: skip


def _caveats(cluster: Cluster | None, target: int) -> list[str]:
    caveats = [
        "A node-local cache opens its connections in bursts, and a Service sends each to a random replica: the larger "
        "the burst of one node, the less replicas help.",
    ]
    if cluster is None:
        caveats.append("Cluster size and autoscaler settings are not known here, so the number is a factor.")
    elif target > 2:
        caveats.append("The number follows nodes and cores, not queries: check it when the cluster shrinks.")
    return caveats


def _undo(snapshot: Snapshot, linear: Linear | None, now: int | None) -> str:
    if linear is not None:
        return _config_map(_parameters(linear), "").text
    return f"Scale {owners.of(snapshot)} back to {now if now is not None else 'the number of replicas it had'}."


def _servers_ratio(before: Facts, after: Facts) -> float:
    """By the replicas in the cluster, or by the servers that those in front spread their queries over."""
    old, new = (landing.in_front(facts).get("upstreams") for facts in (before, after))
    # With 0, none was known in front: a server that becomes known there is no change.
    spread = new / old if isinstance(old, int) and isinstance(new, int) and new > 0 and old > 0 else 1.0
    return max(spread, landing.replicas_ratio(before, after))


FIXES = (
    FixKind(
        id="more_replicas",
        title="Run more replicas of dnsmasq",
        precondition="A controller that manages replicas, or servers in front that can forward to several.",
        landing=Seen(
            "The number of kube-dns replicas rises, if the collector can query the API server; or the servers of this "
            "node that query it forward to more addresses.",
            ("kube.cluster_size", "kube.dns_autoscaler", settings.IN_FRONT),
            lambda before, after: _servers_ratio(before, after) > 1,
            _servers_ratio,
        ),
        measures=("connections_short_ratio", "overdue_ratio", "failed_ratio", "accept_backlog"),
        lab="nodelocal-dnsmasq --apply more_replicas",
    ),
)
