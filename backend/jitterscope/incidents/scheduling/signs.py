"""Reads what signs of trouble need (diagnosis/core/signs.py): of all calm subjects of a node at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.engine import signs_read
from jitterscope.diagnosis.core.snapshot import Event, Snapshot
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
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US

_T = TypeVar("_T")


def load(session: Session, subjects: Sequence[ResourceRow], clock_us: int, window_us: int) -> dict[int, Snapshot]:
    """The part of a snapshot that signs of trouble need, up to the newest data of the subjects' node, by subject.

    Absent: a cause for such subjects has no signs, or the subject has no node.
    """
    end_us = clock_us - clock_us % TICK_US
    start_us = end_us - window_us + (window_us % TICK_US)
    reads = {kind: signs_read(kind) for kind in {one.kind for one in subjects}}
    trees = inventory.narrow_trees(session, [one for one in subjects if reads[one.kind] is not None], start_us, end_us)
    parts = [_Signs.of(one, reads[one.subject.kind] or ()) for one in trees.values()]
    told = sorted({row.id for one in parts for row in one.told})
    facts = inventory.facts(session, told, start_us, end_us)
    begins = {one.id: start_us if one.of_node else regime_start(facts.get(one.id, ()), start_us) for one in parts}
    found: dict[int, Snapshot] = {}
    for begin_us in sorted(set(begins.values())):
        same = [one for one in parts if begins[one.id] == begin_us]
        later = begin_us > start_us
        known = {one: _in_effect(rows, begin_us) for one, rows in facts.items()} if later else facts
        found |= _read_signs(session, same, known, begin_us, end_us)
    return found


@dataclass(frozen=True, slots=True)
class _Signs:
    """What is read of a subject for its signs: a narrow tree, and the metrics by resource."""

    tree: SubjectTree
    reads: tuple[str, ...]

    @classmethod
    def of(cls, tree: SubjectTree, reads: tuple[str, ...]) -> _Signs:
        within = replace(
            tree,
            ancestors=tree.ancestors[:MAX_ANCESTORS],
            processes=latest(tree.processes, MAX_PROCESSES),
            dns_servers=latest(tree.dns_servers, MAX_SERVERS),
            tcp_servers=latest(tree.tcp_servers, MAX_SERVERS),
        )
        return cls(within, reads)

    @property
    def id(self) -> int:
        return self.tree.subject.id

    @property
    def of_node(self) -> bool:
        return self.tree.subject.id == self.tree.node.id

    @property
    def servers(self) -> tuple[ResourceRow, ...]:
        return (*self.tree.dns_servers, *self.tree.tcp_servers)

    @property
    def told(self) -> tuple[ResourceRow, ...]:
        """The resources whose facts are read, too."""
        own = () if self.of_node else (self.tree.subject,)
        return (*own, *self.tree.ancestors, self.tree.node, *self.servers)

    def metrics(self) -> dict[int, tuple[str, ...]]:
        found = {row.id: _signs_of(row.kind, self.reads) for row in self.told}
        plain = (*self.tree.processes, *self.tree.neighbours)
        return found | {row.id: _signs_of(row.kind, self.reads, plain=True) for row in plain}


def _read_signs(
    session: Session,
    parts: Sequence[_Signs],
    facts: Mapping[int, tuple[FactRow, ...]],
    start_us: int,
    end_us: int,
) -> dict[int, Snapshot]:
    """Snapshots in [start_us, end_us), by subject; what several subjects need is read once."""
    wanted: dict[int, set[str]] = {}
    metrics_by_part = [one.metrics() for one in parts]
    for metrics in metrics_by_part:
        for identity, names in metrics.items():
            wanted.setdefault(identity, set()).update(names)
    nodes = sorted({one.tree.node.id for one in parts})
    values, stored = series.read_all(
        session, {identity: sorted(names) for identity, names in wanted.items()}, nodes, start_us, end_us
    )
    set_for = objectives_of(session, list({row.id: row for one in parts for row in one.servers}.values()))
    found = {}
    for one, metrics in zip(parts, metrics_by_part, strict=True):
        tree, told = one.tree, {row.id for row in one.told}
        kinds = [name for name in one.reads if name not in METRICS] if one.of_node else []
        happened = inventory.event_kinds(session, tree.node.id, kinds, start_us, end_us) if kinds else []
        reader = Reader(
            {identity: _only(values.get(identity, {}), names) for identity, names in metrics.items()},
            {
                identity: {name: distribution_of(kept) for name, kept in _only(stored.get(identity, {}), names).items()}
                for identity, names in metrics.items()
            },
            {identity: rows for identity, rows in facts.items() if identity in told},
            {},
            {},
            {row.id: set_for[row.id] for row in one.servers if row.id in set_for},
        )
        node = replace(reader.view(tree.node), events=tuple(Event(kind, start_us) for kind in happened))
        found[one.id] = Snapshot(
            start_us=start_us,
            ticks=(end_us - start_us) // TICK_US,
            subject=node if one.of_node else reader.view(tree.subject),
            node=node,
            ancestors=tuple(map(reader.view, tree.ancestors)),
            processes=tuple(map(reader.view, tree.processes)),
            dns_servers=tuple(map(reader.view, tree.dns_servers)),
            tcp_servers=tuple(map(reader.view, tree.tcp_servers)),
            neighbours=tuple(map(reader.view, tree.neighbours)),
        )
    return found


def _only(known: Mapping[str, _T], names: Sequence[str]) -> dict[str, _T]:
    return {name: known[name] for name in names if name in known}


@cache
def _signs_of(kind: str, reads: tuple[str, ...], *, plain: bool = False) -> tuple[str, ...]:
    """The metrics in `reads` that such resources record; `plain` excludes distributions."""
    return tuple(
        name for name in metrics_of(kind) if name in reads and not (plain and METRICS[name].kind == "distribution")
    )


def _in_effect(facts: tuple[FactRow, ...], start_us: int) -> tuple[FactRow, ...]:
    """From facts in order of time, those in effect at a later start, and what follows."""
    newest = {fact.name: fact.since_us for fact in facts if fact.since_us <= start_us}
    return tuple(fact for fact in facts if fact.since_us >= newest.get(fact.name, start_us))
