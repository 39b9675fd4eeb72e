"""Builds the input of the rules from the database: a subject and its neighbors, aligned, for one window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core import namespace_limits
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.start_up import LONGEST_US
from jitterscope.incidents import history
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.scheduling.views import (
    MAX_ANCESTORS,
    MAX_PROCESSES,
    MAX_SERVERS,
    Reader,
    distribution_of,
    latest,
    metrics_of,
    objectives_of,
    regime_start,
)
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceRow, SubjectTree
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US

# Besides the limits of views.py.
_MAX_UPSTREAMS, _MAX_PROBES = 16, 8
# Neighbors' single queries are compared hop by hop where something happens, which is at the end of the window.
_NEIGHBOUR_QUERIES_US = 60_000_000
_OF_NEIGHBOURS = ("cpu_usage_us", "disk_read_bytes", "disk_written_bytes")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A snapshot with what else incidents need: the subject's names, and the time of the node's newest data (µs)."""

    snapshot: Snapshot
    subject: SubjectRef
    clock_us: int


def load(session: Session, subject_id: int, window_us: int) -> Loaded | None:
    """The newest `window_us` of a cgroup or a node. None if there is no such subject, or no data of its node."""
    subject = inventory.resource(session, subject_id)
    if subject is None:
        return None
    clock_us = inventory.node_clock_us(session, subject.node_id)
    if clock_us is None:
        return None
    end_us = clock_us - clock_us % TICK_US
    start_us = end_us - window_us + (window_us % TICK_US)
    tree = inventory.subject_tree(session, subject_id, start_us, end_us)
    if tree is None:
        return None
    if subject.kind != "node":
        facts = inventory.facts(session, [subject_id], start_us, end_us)
        start_us = regime_start(facts.get(subject_id, ()), start_us)
        tree = inventory.with_dns_neighbours(session, tree, start_us, end_us)
        tree = inventory.with_called_servers(session, tree, start_us, end_us)
        tree = inventory.with_busiest_cgroups(session, tree, start_us, end_us)
    ref = SubjectRef(resource_id=subject.id, kind=subject.kind, key=subject.key, name=subject.name, node=tree.node.name)
    return Loaded(read(session, tree, start_us, end_us), ref, clock_us)


def read(session: Session, tree: SubjectTree, start_us: int, end_us: int) -> Snapshot:
    """Everything stored about a tree in [start_us, end_us), both on the grid; of its workloads only facts."""
    of_node = tree.subject.id == tree.node.id
    tree = replace(
        tree,
        ancestors=tree.ancestors[:MAX_ANCESTORS],
        # A container's activity before a restart is its own, not a neighbor's.
        cgroups=tuple(row for row in tree.cgroups if row not in tree.lives),
        # A node's processes were already selected.
        processes=tree.processes if of_node else latest(tree.processes, MAX_PROCESSES),
        dns_servers=latest(tree.dns_servers, MAX_SERVERS),
        tcp_servers=latest(tree.tcp_servers, MAX_SERVERS),
        tcp_upstreams=latest(tree.tcp_upstreams, _MAX_UPSTREAMS),
        probes=latest(tree.probes, _MAX_PROBES),
    )
    own = [row.id for row in (*tree.dns_servers, *tree.tcp_servers, *tree.tcp_upstreams)]
    others = [row.id for row in tree.neighbours]
    rows = (
        *(() if of_node else (tree.subject,)), *tree.lives, *tree.ancestors, *tree.cgroups, tree.node, *tree.processes,
        *tree.dns_servers, *tree.tcp_servers, *tree.neighbours, *tree.dns_paths, *tree.probes,
        *tree.tcp_upstreams, *tree.called_servers,
    )  # fmt: skip
    wanted = {row.id: metrics_of(row.kind) for row in rows}
    if not of_node:
        # For cgroups other than the subject, only CPU usage and disk activity.
        wanted |= {row.id: _OF_NEIGHBOURS for row in tree.cgroups}
    values, stored = series.read_all(session, wanted, sorted({row.node_id for row in rows}), start_us, end_us)
    histograms = {
        resource_id: {name: distribution_of(one) for name, one in found.items()}
        for resource_id, found in stored.items()
    }
    measured = list(wanted)
    telling = measured if of_node else [row.id for row in rows if row not in tree.cgroups]
    # A node's servers are read like neighbors: to see who was harmed.
    own, others = ([], [*own, *others]) if of_node else (own, others)
    queries = series.read_query_times(session, own, start_us, end_us) if own else {}
    if others:
        queries |= series.read_query_times(session, others, max(start_us, end_us - _NEIGHBOUR_QUERIES_US), end_us)
    events = series.read_events(session, telling, start_us, end_us)
    if not of_node:
        # Whether a program is still starting depends on when it began.
        began = series.read_events(
            session, [row.id for row in tree.processes], start_us - LONGEST_US, start_us, ["process.start"]
        )
        events |= {resource_id: [*found, *events.get(resource_id, ())] for resource_id, found in began.items()}
    homes = inventory.cgroups_of_servers(session, [row.id for row in tree.neighbours])
    # Of these, only facts.
    named = [*(row.id for row in tree.workloads), *homes.values()]
    reader = Reader(
        values,
        histograms,
        inventory.facts(session, [*measured, *named], start_us, end_us),
        events,
        queries,
        objectives_of(session, (*tree.dns_servers, *tree.tcp_servers, *tree.neighbours)),
    )
    node = reader.view(tree.node)
    if of_node:
        node = replace(node, events=(*history.before(session, tree.node.id, start_us), *node.events))
    return Snapshot(
        start_us=start_us,
        ticks=(end_us - start_us) // TICK_US,
        subject=node if of_node else reader.container(tree),
        node=node,
        ancestors=tuple(map(reader.view, tree.ancestors)),
        processes=tuple(map(reader.view, tree.processes)),
        dns_servers=tuple(map(reader.view, tree.dns_servers)),
        tcp_servers=tuple(map(reader.view, tree.tcp_servers)),
        tcp_upstreams=tuple(map(reader.view, tree.tcp_upstreams)),
        called_servers=tuple(map(reader.view, tree.called_servers)),
        probes=tuple(map(reader.view, tree.probes)),
        dns_paths=tuple(map(reader.view, tree.dns_paths)),
        neighbours=tuple(reader.neighbour(row, homes.get(row.id)) for row in tree.neighbours),
        workloads=tuple(map(reader.view, tree.workloads)),
        cgroups=tuple(map(reader.view, tree.cgroups)),
        replicas=None if of_node else _replicas(session, reader.facts.get(tree.subject.id, ()), tree.subject, end_us),
        unavailable=MappingProxyType(unavailable_sources(session, tree.node.id)),
    )


def _replicas(session: Session, facts: Sequence[FactRow], subject: ResourceRow, end_us: int) -> int | None:
    """They are counted only where a quota counts them too."""
    is_counted = namespace_limits.has_quota({fact.name: fact.value for fact in facts})
    return inventory.pods_at(session, subject.id, end_us) if is_counted else None


def unavailable_sources(session: Session, node_id: int) -> dict[str, str]:
    """What the node's collector cannot measure, by source: why, and what it would need."""
    return {
        row.name: f"{row.detail} (needs {row.needs})" if row.needs else row.detail
        for row in inventory.sources(session, node_id)
        if row.state == "unavailable"
    }
