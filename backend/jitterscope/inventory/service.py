"""Resources, facts, and collectors. Other domains use these functions and nothing else of this package.

Every function takes a session of `db.organization_session`, which sees no rows of other organizations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.inventory import (
    addresses,
    busiest,
    dns_upstreams,
    kubernetes_services,
    narrow,
    neighbours,
    node_names,
    overview,
    pods,
    tcp_upstreams,
    workload_names,
)
from jitterscope.inventory import successors as rollouts
from jitterscope.inventory.kubernetes_services import CalledService
from jitterscope.inventory.store import call_paths, collectors, containers, dns_servers, events, nodes, tree
from jitterscope.inventory.store import facts as fact_store
from jitterscope.inventory.store import own as own_resources
from jitterscope.inventory.store import servers as serving
from jitterscope.inventory.types import FactRow, ResourceKind, ResourceRow, Server, SourceRow, SubjectTree
from jitterscope.inventory.workload_names import WorkloadName

_ALWAYS_US = 2**62


def resource(session: Session, resource_id: int) -> ResourceRow | None:
    """One resource; None if the organization has none with that id."""
    return tree.by_id(session, [resource_id]).get(resource_id)


def resources(session: Session, resource_ids: Sequence[int]) -> dict[int, ResourceRow]:
    """The given resources that exist, by id."""
    return tree.by_id(session, resource_ids)


def resources_to_show(session: Session, resource_ids: Sequence[int]) -> dict[int, ResourceRow]:
    """As `resources`, for people: nodes of one name are told apart. Do not match by these names."""
    return {row.id: row for row in node_names.told_apart(session, tree.by_id(session, resource_ids).values())}


def told_apart(session: Session, rows: Iterable[ResourceRow]) -> list[ResourceRow]:
    """The same for known rows."""
    return node_names.told_apart(session, rows)


def names_of_namesakes(session: Session) -> dict[int, str]:
    """Names that tell nodes of one name apart, by resource id; only for display."""
    return node_names.of_namesakes(session)


def names_of_workloads(session: Session, resource_ids: Sequence[int]) -> dict[int, WorkloadName]:
    """Kubernetes names of cgroups and of what is in them, by id; absent if no collector knows them."""
    return workload_names.of(session, resource_ids)


def children(session: Session, resource_id: int, kind: ResourceKind | None = None) -> list[ResourceRow]:
    """Direct children, ordered by kind and name."""
    return tree.children(session, resource_id, kind)


def ancestors(session: Session, resource_id: int) -> list[ResourceRow]:
    """From the parent up to and including the node."""
    return tree.ancestors(session, resource_id)


def owning_cgroup(session: Session, resource_id: int) -> ResourceRow | None:
    """The resource itself if it is a cgroup, otherwise its nearest cgroup ancestor."""
    own = resource(session, resource_id)
    candidates = [] if own is None else [own, *ancestors(session, resource_id)]
    return next((one for one in candidates if one.kind == "cgroup"), None)


def owning_subject(session: Session, resource_id: int) -> ResourceRow | None:
    """What a trigger is diagnosed on: the owning cgroup, or the node if the trigger is the node's own."""
    own = resource(session, resource_id)
    return own if own is not None and own.kind == "node" else owning_cgroup(session, resource_id)


def owning_subjects(session: Session, resource_ids: Sequence[int]) -> dict[int, int]:
    """The ids of the owning subjects of many resources; absent for those without one."""
    return tree.owning_subjects(session, resource_ids)


def subject_tree(
    session: Session, subject_id: int, from_us: int | None = None, to_us: int | None = None
) -> SubjectTree | None:
    """A cgroup and its neighbors: ancestor cgroups, processes and DNS servers below it, probes of those servers.

    For a node: its DNS servers, processes, and the cgroups that events of the window name.

    With a window, processes and servers that were not seen in it are left out. None if there is no such subject.
    """
    found = tree.subject_tree(session, subject_id, from_us, to_us)
    if found is not None:
        return found
    return nodes.tree(session, subject_id, 0 if from_us is None else from_us, _ALWAYS_US if to_us is None else to_us)


def narrow_trees(session: Session, subjects: Sequence[ResourceRow], from_us: int, to_us: int) -> dict[int, SubjectTree]:
    """The parts of subjects' trees with signs of trouble, by subject; absent if it has no node.

    For a cgroup: its ancestors, its processes, its servers, and the node's other DNS servers (as neighbors). For a
    node: only itself.
    """
    return narrow.trees(session, subjects, from_us, to_us)


def event_kinds(session: Session, node_id: int, kinds: Sequence[str], from_us: int, to_us: int) -> list[str]:
    """Which of these kinds of events happened in a window, on a node or on anything in it."""
    return events.kinds(session, node_id, kinds, from_us, to_us)


def cgroups_of_servers(session: Session, server_ids: Sequence[int]) -> dict[int, int]:
    """The cgroup that each server runs in, by the server's id."""
    return dns_servers.homes(session, server_ids) if server_ids else {}


def with_dns_neighbours(session: Session, found: SubjectTree, from_us: int, to_us: int) -> SubjectTree:
    """The tree with its DNS servers' clients, the node's other DNS servers, and cgroups with a known resolv.conf.

    Bounded: servers that it queries or is queried by come first. Unchanged if no DNS server is in the tree.
    """
    return neighbours.added(session, found, from_us, to_us)


def with_called_servers(session: Session, found: SubjectTree, from_us: int, to_us: int) -> SubjectTree:
    """The tree with the TCP servers of its node that it calls, as far as they are known; bounded."""
    return tcp_upstreams.added(session, found, from_us, to_us)


def with_busiest_cgroups(session: Session, found: SubjectTree, from_us: int, to_us: int) -> SubjectTree:
    """A cgroup's tree with the node's other cgroups that used the most CPU in a window; bounded. A node's stays."""
    return busiest.added(session, found, from_us, to_us)


def busiest_of(subject: str, used_us: Mapping[str, float], window_us: int) -> set[str]:
    """As `with_busiest_cgroups`, for cgroups by path with the CPU time (µs) that each used in a window."""
    return busiest.busiest(subject, used_us, window_us)


def nodes_seen(session: Session, after_us: int) -> list[int]:
    """Nodes that sent data after a time, by id."""
    return nodes.seen(session, after_us)


def dns_cgroups(session: Session, seen_after_us: int) -> list[int]:
    """Cgroups seen after a time that contain DNS servers, by id."""
    return dns_servers.cgroups(session, seen_after_us)


def dns_cgroups_on(session: Session, node_id: int, seen_after_us: int) -> list[int]:
    """Those of `dns_cgroups` on a node."""
    return dns_servers.cgroups_on(session, node_id, seen_after_us)


def dns_cgroups_at(session: Session, cgroup_id: int, upstream: str, from_us: int, to_us: int) -> set[int]:
    """Cgroups, on any node, of the DNS servers that answer when a cgroup queries `upstream`, an ADDRESS:PORT."""
    return dns_upstreams.cgroups_at(session, cgroup_id, upstream, from_us, to_us)


def tcp_cgroups_at(session: Session, cgroup_id: int, upstream: str, from_us: int, to_us: int) -> set[int]:
    """Cgroups of the same node whose TCP servers answer when a cgroup calls `upstream`, an ADDRESS:PORT."""
    return tcp_upstreams.cgroups_at(session, cgroup_id, upstream, from_us, to_us)


def upstreams_of(
    session: Session, cgroup_ids: Sequence[int], from_us: int, to_us: int
) -> list[tuple[ResourceRow, ResourceRow | None]]:
    """The TCP upstreams of cgroups seen in a window, each with its server on the node; None: not known."""
    return tcp_upstreams.of_cgroups(session, cgroup_ids, from_us, to_us)


def services_called(
    session: Session, upstreams: Sequence[ResourceRow], from_us: int, to_us: int
) -> dict[int, CalledService]:
    """By id of a TCP upstream: the Kubernetes Service that has its address, with the cgroups behind it, on any node."""
    return kubernetes_services.called(session, upstreams, from_us, to_us)


def paths_seen(
    session: Session, kind: ResourceKind, from_us: int, to_us: int, limit: int
) -> tuple[list[ResourceRow], int]:
    """Resources of a kind seen in a window, on any node: the latest, at most `limit`, and how many there are."""
    return call_paths.seen(session, kind, from_us, to_us, limit)


def tcp_servers_named(
    session: Session, keys: Collection[tuple[int, str]], from_us: int, to_us: int
) -> dict[tuple[int, str], ResourceRow]:
    """The TCP servers seen in a window, by node and key."""
    return call_paths.tcp_servers(session, keys, from_us, to_us)


def servers_within(
    session: Session, cgroup_ids: Sequence[int], from_us: int, to_us: int
) -> list[tuple[int, ResourceRow]]:
    """DNS and TCP servers in cgroups, seen in a window, each with the id of its cgroup; bounded, the latest first."""
    return call_paths.servers_within(session, cgroup_ids, from_us, to_us)


def cgroups_with_addresses(session: Session, wanted: Collection[str], from_us: int, to_us: int) -> dict[str, list[int]]:
    """Ids of the cgroups seen in a window that have each IP address, on any node; bounded."""
    return addresses.cgroups(session, wanted, from_us, to_us)


def dns_nodes(session: Session, from_us: int, to_us: int) -> list[ResourceRow]:
    """Nodes with DNS servers seen in a window, those with the most servers first."""
    return dns_servers.nodes(session, from_us, to_us)


def servers(session: Session, containing: str, from_us: int, to_us: int, limit: int) -> tuple[list[Server], int]:
    """DNS and TCP servers seen in a window, on any node, whose name, container, process, or node contains a text.

    Returns the latest seen, at most `limit`, and how many there are.
    """
    return serving.find(session, containing, from_us, to_us, limit)


def seen_servers(session: Session, after_us: int, annotated: str | None) -> list[int]:
    """Ids of DNS and TCP servers seen after a time, the latest if there are very many.

    `annotated`: only those whose cgroup has this fact.
    """
    return serving.seen(session, after_us, annotated)


def containers_seen(
    session: Session, containing: str, node_id: int | None, from_us: int, *, gone_us: int | None, every: bool,
    limit: int,
) -> tuple[list[ResourceRow], int]:  # fmt: skip
    """Containers seen since a time whose name, path, or node contains a text, and how many there are in total.

    The total is not limited by `limit`. The most recently throttled come first. `gone_us`: only those seen after it;
    `every`: includes pods and slices.
    """
    return containers.find(session, containing, node_id, from_us, gone_us, every, limit)


def cpu_limit(known: Sequence[FactRow]) -> float | None:
    """CPUs that the quota in effect allows; None without a limit, or if it is not known."""
    return overview.cpu_limit(known)


def of_kind_on_node(
    session: Session, node_id: int, kind: ResourceKind, from_us: int, to_us: int, limit: int
) -> list[ResourceRow]:
    """Resources of a kind on a node that were seen in a window; the latest seen, at most `limit`."""
    return dns_servers.on_node(session, node_id, kind, from_us, to_us, limit)


def asking_cgroups(session: Session, node_id: int, from_us: int, to_us: int, limit: int) -> list[ResourceRow]:
    """Cgroups of a node with a known resolv.conf, seen in a window; the latest seen, at most `limit`."""
    return dns_servers.asking(session, node_id, from_us, to_us, limit)


def facts(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int | None = None,
    names: Sequence[str] | None = None,
) -> dict[int, tuple[FactRow, ...]]:
    """Facts in effect at `from_us`, and their changes up to `to_us`, oldest first; every given id is a key.

    `names`: only these facts. A fact first observed after `from_us` (the collector had just started) is among the
    changes.
    """
    return fact_store.in_effect(session, resource_ids, from_us, to_us, names)


def workload_of(known: Sequence[FactRow]) -> tuple[str, str, str] | None:
    """(namespace, controller or pod name without its random part, container) from a cgroup's facts, if they have it."""
    return rollouts.workload_of({one.name: one.value for one in known})


def seen_since(session: Session, kind: ResourceKind, from_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    """Resources of a kind seen since a time: the latest, at most `limit`, and how many there are."""
    return tree.seen_since(session, kind, from_us, limit)


def lives_of(session: Session, cgroup_id: int) -> list[int]:
    """A cgroup and the others that its container had in its pod: each start creates a new one."""
    own = tree.by_id(session, [cgroup_id]).get(cgroup_id)
    return [cgroup_id] if own is None else [cgroup_id, *(one.id for one in tree.container_lives(session, own))]


def replicas_among(session: Session, cgroup_id: int, others: Collection[int]) -> set[int]:
    """Those of `others` in the same Kubernetes workload: one patch of its owner changes all of them."""
    return rollouts.replicas_among(session, cgroup_id, others)


def successors(session: Session, cgroup_id: int, after_us: int) -> list[ResourceRow]:
    """Cgroups of the same workload (namespace, controller, container) first seen after `after_us`; likeliest first."""
    return rollouts.successors(session, cgroup_id, after_us)


def same_workload(session: Session, cgroup_id: int, seen_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    """The other cgroups of the same workload seen since a time, latest first, and an upper bound of how many there are.

    The bound is exact unless there are more than `limit`.
    """
    return rollouts.same_workload(session, cgroup_id, seen_us, limit)


def pods_at(session: Session, cgroup_id: int, at_us: int) -> int | None:
    """How many pods of a container's workload were there at a time, its own among them; None: it is not in a pod."""
    return rollouts.pods_at(session, cgroup_id, at_us)


def within(session: Session, cgroup_ids: Sequence[int], seen_us: int, limit: int) -> tuple[list[ResourceRow], int]:
    """Processes and DNS servers in cgroups seen since a time: the latest, at most `limit`, and how many there are."""
    return tree.within(session, cgroup_ids, seen_us, limit)


def own(session: Session, resource_ids: Collection[int]) -> set[int]:
    """Those of the resources that are processes of Jitterscope itself, or contain only them."""
    return own_resources.among(session, resource_ids)


def is_told_by_its_containers(session: Session, cgroup_id: int) -> bool:
    """Whether a cgroup is a pod's whose only CPU limit is the sum of its containers' limits."""
    return pods.is_told_by_its_containers(session, cgroup_id)


def facts_changed_at(session: Session, resource_ids: Sequence[int]) -> dict[int, datetime]:
    """When any fact on a resource's node last changed, by the database's clock; absent without a collector.

    Whatever starts has facts, so nothing starts without a change.
    """
    return collectors.facts_changed_at(session, resource_ids)


def node_clock_us(session: Session, node_id: int) -> int | None:
    """When the node's newest batch was sealed (µs since the epoch): the clock of its data. None: no collector."""
    return collectors.sealed_at_us(session, node_id)


def silent_since_us(session: Session, node_id: int, least: timedelta) -> int | None:
    """When the node's newest batch was sealed, if none has arrived for `least`; None if one has, or no collector."""
    return collectors.silent_since_us(session, node_id, least)


def on_silent_nodes(session: Session, resource_ids: Sequence[int]) -> set[int]:
    """Those of the resources whose node's collector sends nothing now."""
    return collectors.on_silent_nodes(session, resource_ids)


def sources(session: Session, node_id: int) -> list[SourceRow]:
    """What the collector of a node can and cannot measure, as last reported."""
    return collectors.sources_of(session, [node_id])[node_id]
