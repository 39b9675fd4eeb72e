"""Which external series belong to a resource: by the labels of its pod or node, and by its addresses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from sqlalchemy.orm import Session

from jitterscope.inventory import service as inventory
from jitterscope.inventory.external_resources import NODE_LABELS, POD_LABELS, host_of, is_local
from jitterscope.inventory.types import ResourceRow
from jitterscope.series import external_search
from jitterscope.series.external_selection import Belonging, Clause

_ALWAYS_US = 2**62
# A series with such a label belongs to a pod, not to the node that the pod is on.
_POD_NAMES = tuple(pod for _, pod, _ in POD_LABELS)
_LOCAL = ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]")  # noqa: S104
# External metrics that reveal a node's address: metric, label with the node's name, label with the address.
_TELL_ADDRESSES = (
    ("node_uname_info", "nodename", "instance"),
    ("kube_node_info", "node", "internal_ip"),
)
_MOST_PORTS = 32


def of_resource(session: Session, resource: ResourceRow) -> Belonging:
    """The series that belong to a resource; for something inside a container, those of the container."""
    if resource.kind == "external":
        return Belonging(resource_ids=(resource.id,))
    if resource.kind == "node":
        return _of_node(session, resource)
    cgroup = inventory.owning_cgroup(session, resource.id)
    if cgroup is None:
        return Belonging(resource_ids=(resource.id,))
    return _of_cgroup(session, cgroup)


def _of_node(session: Session, node: ResourceRow) -> Belonging:
    names = _names(session, node)
    return Belonging(
        resource_ids=(node.id,),
        clauses=tuple(Clause({label: name}, _POD_NAMES) for label in NODE_LABELS for name in names),
        hosts=_hosts(session, names),
        targets_without=_POD_NAMES,
    )


def _of_cgroup(session: Session, cgroup: ResourceRow) -> Belonging:
    found = inventory.facts(session, [cgroup.id], _ALWAYS_US)[cgroup.id]
    known = {fact.name: fact.value for fact in found}
    addresses = _texts(known.get("net.addresses"))
    instances: list[str] = []
    local: list[str] = []
    names: tuple[str, ...] = ()
    if not addresses:  # on the node's network
        names, hosts, local_ports = _listens(session, cgroup, instances)
        local = [f"{host}:{port}" for port in local_ports for host in _LOCAL]
        instances += [f"{_bracketed(host)}:{port}" for port in local_ports for host in hosts]
    return Belonging(
        resource_ids=(cgroup.id,),
        clauses=tuple(_of_pod(known)),
        hosts=tuple(addresses),
        instances=tuple(instances),
        # A target that carries a pod's name belongs only to that pod.
        targets_without=tuple(label for label in _POD_NAMES if label != "exported_pod"),
        local_instances=tuple(local),
        node_labels=NODE_LABELS,
        node_names=names,
    )


def _of_pod(known: Mapping[str, str]) -> Iterable[Clause]:
    namespace, pod = known.get("workload.namespace"), known.get("workload.pod")
    container = known.get("workload.container")
    if not namespace or not pod:
        return
    for labels in POD_LABELS:
        named = {labels[0]: namespace, labels[1]: pod}
        if container:
            yield Clause(named | {labels[2]: container})
            yield Clause(named, (labels[2],))  # the pod's network, and other metrics about the pod as a whole
        else:
            yield Clause(named)


def _listens(
    session: Session, cgroup: ResourceRow, instances: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...], list[str]]:
    """Names and hosts of the node, and ports where the cgroup's servers listen on all of its addresses or on loopback.

    Appends to `instances` the other addresses that they listen on.
    """
    tree = inventory.subject_tree(session, cgroup.id)
    if tree is None or not tree.tcp_servers:
        return (), (), []
    facts = inventory.facts(session, [one.id for one in tree.tcp_servers], _ALWAYS_US, names=["tcp.addresses"])
    told = {address for of in facts.values() for fact in of for address in _texts(fact.value)}
    instances += sorted(address for address in told if not is_local(address))[:_MOST_PORTS]
    ports = sorted({address.rpartition(":")[2] for address in told if is_local(address)})[:_MOST_PORTS]
    names = _names(session, tree.node)
    return names, _hosts(session, names), ports


def _names(session: Session, node: ResourceRow) -> tuple[str, ...]:
    found = inventory.facts(session, [node.id], _ALWAYS_US, names=["node.name", "node.hostname"])[node.id]
    return tuple(sorted({node.key, node.name, *(fact.value for fact in found)} - {""}))


def _hosts(session: Session, names: tuple[str, ...]) -> tuple[str, ...]:
    """Hosts of a node's scrape targets: its names, and the addresses that other metrics reveal."""
    told = {
        host_of(value)
        for metric, label, address in _TELL_ADDRESSES
        for value in external_search.values_of(session, metric, label, names, address)
        if not is_local(value)
    }
    return tuple(sorted({*names, *told}))


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _texts(fact: str | None) -> list[str]:
    """The strings in a fact that is a JSON list."""
    try:
        found = json.loads(fact or "[]")
    except ValueError:
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
