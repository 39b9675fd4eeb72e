"""Which resource an external series belongs to: the container that its labels name, otherwise its scrape target."""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from jitterscope.inventory.store import arrivals as store
from jitterscope.tenancy import limits

_MAX_KEY = 512
# Labels that senders use for cluster and node: from `external_labels`, relabeling, or OpenTelemetry resource
# attributes.
CLUSTER_LABELS = ("cluster", "k8s_cluster_name", "kubernetes_cluster")
NODE_LABELS = ("node", "k8s_node_name", "kubernetes_node", "node_name", "nodename", "hostname", "host_name", "host")
# The labels that name a container, and other senders' variants of them.
POD_LABELS = (
    ("namespace", "pod", "container"),
    ("k8s_namespace_name", "k8s_pod_name", "k8s_container_name"),
    ("kubernetes_namespace", "kubernetes_pod_name", "kubernetes_container_name"),
    ("exported_namespace", "exported_pod", "exported_container"),
)


def resolve(session: Session, organization_id: int, labels: Sequence[Mapping[str, str]]) -> list[int]:
    """Resource ids parallel to `labels`; creates resources of kind "external" for new targets.

    cAdvisor and kubelet metrics carry namespace, pod, and container: they join the cgroup to which a collector gave
    that name.
    """
    containers = [_container(one) for one in labels]
    known: dict[str, dict[str, int]] = {}
    if any(containers):
        for row in store.cgroups_named(session, {name for name in containers if name}):
            known.setdefault(row.name, {}).setdefault(row.node, row.id)
    targets = {
        at: target_of(one) for at, (one, name) in enumerate(zip(labels, containers, strict=True)) if name not in known
    }
    made: dict[str, int] = {}
    if targets:
        rows = store.upsert_targets(session, organization_id, dict(targets.values()))
        if created := sum(row.created for row in rows):
            limits.spend(organization_id, {"resources": created})
        made = {row.key: row.id for row in rows}
    return [
        made[targets[at][0]] if at in targets else _on_its_node(known[containers[at]], one)
        for at, one in enumerate(labels)
    ]


def _on_its_node(of_name: Mapping[str, int], labels: Mapping[str, str]) -> int:
    """Of same-named cgroups by node, the one on the node that the labels name, otherwise the last seen."""
    named = (of_name[labels[label]] for label in NODE_LABELS if labels.get(label) in of_name)
    return next(named, next(iter(of_name.values())))


def _container(labels: Mapping[str, str]) -> str:
    """The display name of the cgroup: namespace/pod/container; empty if the labels name none."""
    parts = [labels.get(name, "") for name in POD_LABELS[0]]
    return "/".join(parts) if all(parts) else ""


def target_of(labels: Mapping[str, str]) -> tuple[str, str]:
    """Key and name of a scrape target.

    Job and instance identify it within one network. Another cluster can have the same addresses, and each node has its
    own 127.0.0.1: there, the cluster and node labels that senders add with `external_labels` distinguish targets. For
    other addresses a node label does not: kube-state-metrics sets it to the node it reports about, and is one target
    for all.
    """
    instance = labels.get("instance", "")
    name = "/".join(part for part in (labels.get("job"), instance) if part) or "remote write"
    place = {"cluster": _first(labels, CLUSTER_LABELS)}
    if is_local(instance):
        place["node"] = _first(labels, NODE_LABELS)
    place = {what: value for what, value in place.items() if value}
    if place:
        key = f"{name}{json.dumps(place, ensure_ascii=False)}"
        name += "".join(f" {word} {place[what]}" for what, word in (("node", "on"), ("cluster", "in")) if what in place)
    else:
        key = name
    if len(key) > _MAX_KEY:
        # Two long keys with the same prefix stay distinct.
        key = f"{key[: _MAX_KEY - 34]}, {hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}"
    return key, name[:_MAX_KEY]


def host_of(instance: str) -> str:
    """The host of HOST:PORT, [V6]:PORT, or a URL; an instance without a port is returned unchanged."""
    rest = instance.partition("://")[2] or instance
    rest = rest.partition("/")[0]
    if rest.startswith("["):
        return rest[1:].partition("]")[0]
    return rest.rpartition(":")[0] if rest.count(":") == 1 else rest


def is_local(instance: str) -> bool:
    """Whether an instance means something different on each node: empty, loopback, or wildcard address."""
    host = host_of(instance)
    if host in ("", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def _first(labels: Mapping[str, str], names: Sequence[str]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
