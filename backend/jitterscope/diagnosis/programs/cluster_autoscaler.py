"""The number of kube-dns replicas that cluster-proportional-autoscaler sets, and the parameters for a wanted number.

https://github.com/kubernetes-sigs/cluster-proportional-autoscaler#linear-mode: replicas = max(ceil(cores ÷
coresPerReplica), ceil(nodes ÷ nodesPerReplica)), then clamped to min and max; preventSinglePointFailure makes it at
least 2 if there is more than one node.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from jitterscope.diagnosis.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Linear:
    """Parameters of linear mode; None: not set."""

    cores_per_replica: float | None
    nodes_per_replica: float | None
    minimum: int
    maximum: int | None
    prevent_single_point: bool

    def replicas(self, nodes: int, cores: int) -> int:
        wanted = 1
        if self.cores_per_replica:
            wanted = max(wanted, math.ceil(cores / self.cores_per_replica))
        if self.nodes_per_replica:
            wanted = max(wanted, math.ceil(nodes / self.nodes_per_replica))
        if self.maximum is not None:
            wanted = min(wanted, self.maximum)
        wanted = max(wanted, self.minimum)
        return max(wanted, 2) if self.prevent_single_point and nodes > 1 else wanted


@dataclass(frozen=True, slots=True)
class Cluster:
    nodes: int
    cores: int
    replicas: int | None


def linear(snapshot: Snapshot) -> Linear | None:
    """The parameters in use; None if they are unknown, or in ladder mode."""
    found = _json(snapshot, "kube.dns_autoscaler")
    inner = found.get("linear", found)
    if isinstance(inner, str):
        inner = _parsed(inner)
    if not isinstance(inner, dict) or not ({"coresPerReplica", "nodesPerReplica"} & set(inner)):
        return None
    maximum = _positive(inner.get("max"))
    return Linear(
        _positive(inner.get("coresPerReplica")),
        _positive(inner.get("nodesPerReplica")),
        int(_positive(inner.get("min")) or 1),
        None if maximum is None else int(maximum),
        inner.get("preventSinglePointFailure") is True,
    )


def cluster(snapshot: Snapshot) -> Cluster | None:
    """Size of the cluster, if the API server was queried."""
    found = _json(snapshot, "kube.cluster_size")
    nodes, cores = _positive(found.get("nodes")), _positive(found.get("cores"))
    replicas = _positive(found.get("kube_dns_replicas"))
    if nodes is None or cores is None:
        return None
    return Cluster(int(nodes), int(cores), None if replicas is None else int(replicas))


def parameter_for(replicas: int, size: int) -> int | None:
    """The largest whole number of cores (or nodes) per replica that gives `replicas` at this size; None if none does.

    ceil(size ÷ n) ≥ replicas holds if n < size ÷ (replicas - 1).
    """
    if replicas <= 1:
        return size
    largest = math.ceil(size / (replicas - 1)) - 1
    return largest if largest >= 1 else None


def _json(snapshot: Snapshot, name: str) -> dict[str, object]:
    return _parsed(snapshot.node.fact(name))


def _parsed(text: str | None) -> dict[str, object]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _positive(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None
