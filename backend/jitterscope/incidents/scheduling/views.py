"""What snapshots of a subject and its signs have in common: limits, the window, and views of resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.objective import Objective
from jitterscope.diagnosis.core.snapshot import (
    Distribution,
    Event,
    FactValue,
    FloatArray,
    Queries,
    ResourceView,
    of_workload,
)
from jitterscope.incidents import lives
from jitterscope.inventory.types import FactRow, ResourceRow, SubjectTree
from jitterscope.objectives import service as objectives
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US, StoredDistribution, StoredEvent, StoredQueries

# A window never starts before a change of the CPU limit: the rules compare demand with one limit.
_REGIME_FACTS = frozenset({"cpu.quota_us", "cpu.period_us", "cpu.burst_us"})
# Limits what one diagnosis reads, whatever the cgroup contains.
MAX_PROCESSES, MAX_SERVERS, MAX_ANCESTORS = 32, 8, 8


@dataclass(frozen=True, slots=True)
class Reader:
    """What was read of the resources of a snapshot, by resource."""

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
            facts=tuple(map(_fact, self.facts.get(row.id, ()))),
            events=tuple(
                Event(event.kind, event.start_us, event.duration_us, event.attributes)
                for event in self.events.get(row.id, ())
            ),
            queries=None if stored is None else _queries(stored),
            objective=self.objectives.get(row.id),
        )

    def neighbour(self, row: ResourceRow, cgroup_id: int | None) -> ResourceView:
        """A server beside the subject, with the names of its workload."""
        return of_workload(self.view(row), map(_fact, self.facts.get(cgroup_id or 0, ())))

    def container(self, tree: SubjectTree) -> ResourceView:
        """The subject with what its container's other lives recorded."""
        others = [self.view(one) for one in tree.lives]
        return lives.joined(self.view(tree.subject), others)


def _fact(row: FactRow) -> FactValue:
    return FactValue(row.name, row.value, row.since_us)


def objectives_of(session: Session, servers: Sequence[ResourceRow]) -> Mapping[int, Objective]:
    """Objectives in effect, by server."""
    return objectives.in_effect(session, [row.id for row in servers if row.kind in ("dns_server", "tcp_server")])


@cache
def metrics_of(kind: str) -> tuple[str, ...]:
    """The metrics that resources of a kind have."""
    return tuple(metric.name for metric in METRICS.values() if kind in metric.resources)


def _queries(stored: StoredQueries) -> Queries:
    return Queries(
        sent_us=stored.sent_us,
        latency_us=stored.latency_us,
        result=stored.result,
        queue_wait_us=stored.queue_wait_us,
        complete=stored.complete,
    )


def distribution_of(stored: StoredDistribution) -> Distribution:
    """The histogram as the rules see it."""
    return Distribution(stored.tick, stored.bucket, stored.count)


def latest(rows: tuple[ResourceRow, ...], limit: int) -> tuple[ResourceRow, ...]:
    """Those seen last, at most `limit`, in their order."""
    if len(rows) <= limit:
        return rows
    kept = {row.id for row in sorted(rows, key=lambda row: row.last_seen_us, reverse=True)[:limit]}
    return tuple(row for row in rows if row.id in kept)


def regime_start(facts: tuple[FactRow, ...], start_us: int) -> int:
    """The time after the last CPU limit change in the window, on the grid. The first observation is not a change."""
    begin_us = start_us
    current: dict[str, str] = {}
    for fact in facts:
        if fact.name not in _REGIME_FACTS:
            continue
        before = current.get(fact.name)
        if before is not None and before != fact.value:
            begin_us = max(begin_us, fact.since_us)
        current[fact.name] = fact.value
    return begin_us + (-begin_us % TICK_US)
