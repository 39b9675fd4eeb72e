"""Builds the input of the rules from the database: a subject and its neighbors, aligned, for one window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core import namespace_limits
from jitterscope.diagnosis.core.engine import signs_read
from jitterscope.diagnosis.core.objective import Objective
from jitterscope.diagnosis.core.snapshot import (
    Distribution,
    Event,
    FactValue,
    FloatArray,
    Queries,
    ResourceView,
    Snapshot,
)
from jitterscope.diagnosis.core.start_up import LONGEST_US
from jitterscope.incidents import history, lives
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceRow, SubjectTree
from jitterscope.objectives import service as objectives
from jitterscope.series import service as series
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US, StoredDistribution, StoredEvent, StoredQueries

# A window never starts before a change of the CPU limit: the rules compare demand with one limit.
_REGIME_FACTS = frozenset({"cpu.quota_us", "cpu.period_us", "cpu.burst_us"})
# Limits what one diagnosis reads, whatever the cgroup contains.
_MAX_PROCESSES, _MAX_SERVERS, _MAX_UPSTREAMS, _MAX_PROBES, _MAX_ANCESTORS = 32, 8, 16, 8, 8
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
        start_us = _regime_start(facts.get(subject_id, ()), start_us)
        tree = inventory.with_dns_neighbours(session, tree, start_us, end_us)
        tree = inventory.with_called_servers(session, tree, start_us, end_us)
        tree = inventory.with_busiest_cgroups(session, tree, start_us, end_us)
    ref = SubjectRef(resource_id=subject.id, kind=subject.kind, key=subject.key, name=subject.name, node=tree.node.name)
    return Loaded(read(session, tree, start_us, end_us), ref, clock_us)


def load_signs(session: Session, subject: ResourceRow, clock_us: int, window_us: int) -> Snapshot | None:
    """The part of `load` that is needed for signs of trouble, up to the node's newest data.

    None if a cause for such subjects has no signs, or if the subject has no node.
    """
    reads = signs_read(subject.kind)
    end_us = clock_us - clock_us % TICK_US
    start_us = end_us - window_us + (window_us % TICK_US)
    tree = None if reads is None else inventory.narrow_tree(session, subject, start_us, end_us)
    if reads is None or tree is None:
        return None
    of_node = subject.id == tree.node.id
    own, above = _latest(tree.dns_servers, _MAX_SERVERS), tree.ancestors[:_MAX_ANCESTORS]
    tcp = _latest(tree.tcp_servers, _MAX_SERVERS)
    processes = _latest(tree.processes, _MAX_PROCESSES)
    told = (*(() if of_node else (subject,)), *above, tree.node, *own, *tcp)
    facts = inventory.facts(session, [row.id for row in told], start_us, end_us)
    if not of_node:
        start_us = _regime_start(facts.get(subject.id, ()), start_us)
        facts = {resource_id: _in_effect(rows, start_us) for resource_id, rows in facts.items()}
    wanted = {row.id: _signs_of(row.kind, reads) for row in told}
    wanted |= {row.id: _signs_of(row.kind, reads, plain=True) for row in (*processes, *tree.neighbours)}
    values, stored = series.read_all(session, wanted, [tree.node.id], start_us, end_us)
    histograms = {
        resource_id: {name: _distribution(one) for name, one in found.items()} for resource_id, found in stored.items()
    }
    kinds = [name for name in reads if name not in METRICS] if of_node else []
    happened = inventory.event_kinds(session, tree.node.id, kinds, start_us, end_us) if kinds else []
    reader = _Reader(values, histograms, facts, {}, {}, _objectives(session, (*own, *tcp)))
    node = replace(reader.view(tree.node), events=tuple(Event(kind, start_us) for kind in happened))
    return Snapshot(
        start_us=start_us,
        ticks=(end_us - start_us) // TICK_US,
        subject=node if of_node else reader.view(subject),
        node=node,
        ancestors=tuple(map(reader.view, above)),
        processes=tuple(map(reader.view, processes)),
        dns_servers=tuple(map(reader.view, own)),
        tcp_servers=tuple(map(reader.view, tcp)),
        neighbours=tuple(map(reader.view, tree.neighbours)),
    )


def read(session: Session, tree: SubjectTree, start_us: int, end_us: int) -> Snapshot:
    """Everything stored about a tree in [start_us, end_us), both on the grid; of its workloads only facts."""
    of_node = tree.subject.id == tree.node.id
    tree = replace(
        tree,
        ancestors=tree.ancestors[:_MAX_ANCESTORS],
        # A container's activity before a restart is its own, not a neighbor's.
        cgroups=tuple(row for row in tree.cgroups if row not in tree.lives),
        # A node's processes were already selected.
        processes=tree.processes if of_node else _latest(tree.processes, _MAX_PROCESSES),
        dns_servers=_latest(tree.dns_servers, _MAX_SERVERS),
        tcp_servers=_latest(tree.tcp_servers, _MAX_SERVERS),
        tcp_upstreams=_latest(tree.tcp_upstreams, _MAX_UPSTREAMS),
        probes=_latest(tree.probes, _MAX_PROBES),
    )
    own = [row.id for row in (*tree.dns_servers, *tree.tcp_servers, *tree.tcp_upstreams)]
    others = [row.id for row in tree.neighbours]
    rows = (
        *(() if of_node else (tree.subject,)), *tree.lives, *tree.ancestors, *tree.cgroups, tree.node, *tree.processes,
        *tree.dns_servers, *tree.tcp_servers, *tree.neighbours, *tree.dns_paths, *tree.probes,
        *tree.tcp_upstreams, *tree.called_servers,
    )  # fmt: skip
    wanted = {row.id: _metrics_of(row.kind) for row in rows}
    if not of_node:
        # For cgroups other than the subject, only CPU usage and disk activity.
        wanted |= {row.id: _OF_NEIGHBOURS for row in tree.cgroups}
    values, stored = series.read_all(session, wanted, sorted({row.node_id for row in rows}), start_us, end_us)
    histograms = {
        resource_id: {name: _distribution(one) for name, one in found.items()} for resource_id, found in stored.items()
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
    reader = _Reader(
        values,
        histograms,
        inventory.facts(session, [*measured, *(row.id for row in tree.workloads)], start_us, end_us),
        events,
        queries,
        _objectives(session, (*tree.dns_servers, *tree.tcp_servers, *tree.neighbours)),
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
        neighbours=tuple(map(reader.view, tree.neighbours)),
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


@dataclass(frozen=True, slots=True)
class _Reader:
    values: Mapping[int, Mapping[str, FloatArray]]
    histograms: Mapping[int, Mapping[str, Distribution]]
    facts: Mapping[int, tuple[FactRow, ...]]
    events: Mapping[int, Sequence[StoredEvent]]
    queries: Mapping[int, StoredQueries]
    objectives: Mapping[int, Objective]

    def view(self, row: ResourceRow) -> ResourceView:
        stored = self.queries.get(row.id)
        return ResourceView(
            id=row.id,
            kind=row.kind,
            key=row.key,
            name=row.name,
            series=self.values.get(row.id, {}),
            distributions=self.histograms.get(row.id, {}),
            facts=tuple(FactValue(fact.name, fact.value, fact.since_us) for fact in self.facts.get(row.id, ())),
            events=tuple(
                Event(event.kind, event.start_us, event.duration_us, event.attributes)
                for event in self.events.get(row.id, ())
            ),
            queries=None if stored is None else _queries(stored),
            objective=self.objectives.get(row.id),
        )

    def container(self, tree: SubjectTree) -> ResourceView:
        """The subject with what its container's other lives recorded."""
        others = [self.view(one) for one in tree.lives]
        return lives.joined(self.view(tree.subject), others)


def _objectives(session: Session, servers: Sequence[ResourceRow]) -> Mapping[int, Objective]:
    return objectives.in_effect(session, [row.id for row in servers if row.kind in ("dns_server", "tcp_server")])


@cache
def _metrics_of(kind: str) -> tuple[str, ...]:
    return tuple(metric.name for metric in METRICS.values() if kind in metric.resources)


@cache
def _signs_of(kind: str, reads: tuple[str, ...], *, plain: bool = False) -> tuple[str, ...]:
    """The metrics in `reads` that such resources record; `plain` excludes distributions."""
    return tuple(
        name for name in _metrics_of(kind) if name in reads and not (plain and METRICS[name].kind == "distribution")
    )


def _queries(stored: StoredQueries) -> Queries:
    return Queries(
        sent_us=stored.sent_us,
        latency_us=stored.latency_us,
        result=stored.result,
        queue_wait_us=stored.queue_wait_us,
        complete=stored.complete,
    )


def _distribution(stored: StoredDistribution) -> Distribution:
    return Distribution(stored.tick, stored.bucket, stored.count)


def _latest(rows: tuple[ResourceRow, ...], limit: int) -> tuple[ResourceRow, ...]:
    if len(rows) <= limit:
        return rows
    kept = {row.id for row in sorted(rows, key=lambda row: row.last_seen_us, reverse=True)[:limit]}
    return tuple(row for row in rows if row.id in kept)


def _regime_start(facts: tuple[FactRow, ...], start_us: int) -> int:
    """The time after the last CPU limit change in the window, on the grid. The first observation is not a change."""
    latest = start_us
    current: dict[str, str] = {}
    for fact in facts:
        if fact.name not in _REGIME_FACTS:
            continue
        before = current.get(fact.name)
        if before is not None and before != fact.value:
            latest = max(latest, fact.since_us)
        current[fact.name] = fact.value
    return latest + (-latest % TICK_US)


def _in_effect(facts: tuple[FactRow, ...], start_us: int) -> tuple[FactRow, ...]:
    """From facts in order of time, those in effect at a later start, and what follows."""
    newest = {fact.name: fact.since_us for fact in facts if fact.since_us <= start_us}
    return tuple(fact for fact in facts if fact.since_us >= newest.get(fact.name, start_us))
