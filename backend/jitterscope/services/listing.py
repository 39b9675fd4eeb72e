"""Every server of an organization with its figures, ordered by any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.objective import Objective
from jitterscope.incidents.api import queries
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceRow, Server
from jitterscope.objectives import service as objectives
from jitterscope.services import calls, figures
from jitterscope.services.calls import Call
from jitterscope.services.figures import Figures, Watched
from jitterscope.services.schemas import Order

# Servers that one answer compares.
MAX_SERVERS = 500
_RUNTIMES = {"jvm": "JVM", "nodejs": "Node.js", "python": "Python", "ruby": "Ruby", "dotnet": ".NET"}

Quantiles = tuple[float | None, float | None]
Facts = Mapping[int, Sequence[FactRow]]


@dataclass(frozen=True, slots=True)
class Promised:
    """An objective and the value of its quantile in the window (µs); None: not measured."""

    objective: Objective
    value_us: float | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A server with its known figures."""

    row: ResourceRow
    watched: Watched
    program: str | None
    runtime: str | None
    figures: Figures
    incidents: list[IncidentRef]


@dataclass(frozen=True, slots=True)
class Listing:
    """A part of the list; `asks` by cgroup.

    `found` servers match, and `compared` of them are in the list, which continues if `more`.
    """

    entries: list[Entry]
    quantiles: dict[int, Quantiles]
    objectives: dict[int, Promised]
    asks: dict[int, list[Call]]
    places: dict[int, ResourceRow]
    found: int
    compared: int
    more: bool


def read(
    session: Session, containing: str, span: tuple[int, int], order: Order, descending: bool, part: slice
) -> Listing:
    """One part of the ordered list; unknown values come last. `span`: whole minutes, µs."""
    servers, found = inventory.servers(session, containing, *span, MAX_SERVERS)
    entries = _entries(session, servers, span)
    quantiles: dict[int, Quantiles] = {}
    if order in ("p50", "p99"):  # costs more than everything else, so otherwise only for the part
        quantiles = _quantiles(session, entries, span)
    ordered = _ordered(entries, _key(order, quantiles), descending)
    shown = ordered[part]
    if not quantiles:
        quantiles = _quantiles(session, shown, span)
    ids = {one for entry in shown for one in (entry.row.node_id, entry.watched.cgroup_id) if one is not None}
    return Listing(
        entries=shown,
        quantiles=quantiles,
        objectives=_objectives(session, shown, span),
        asks=calls.read(session, sorted({one.watched.cgroup_id for one in shown if one.watched.cgroup_id}), *span),
        places=inventory.resources_to_show(session, sorted(ids)),
        found=found,
        compared=len(servers),
        more=part.stop < len(ordered),
    )


def _entries(session: Session, servers: Sequence[Server], span: tuple[int, int]) -> list[Entry]:
    rows = {one.resource.id: one.resource for one in servers}
    homes = inventory.owning_subjects(session, list(rows))
    processes = {one.resource.id: one.process_id for one in servers if one.process_id is not None}
    facts = inventory.facts(session, sorted({*rows, *processes.values()}), span[1])
    watched = [Watched(row.id, row.kind, row.node_id, homes.get(row.id)) for row in rows.values()]
    incidents = queries.active_on(session, sorted(set(homes.values())))
    measured = dict(figures.read(session, watched, *span))
    return [
        Entry(
            row=rows[one.id],
            watched=one,
            program=_fact(facts, one.id, "tcp.program") or _fact(facts, one.id, "dns.software"),
            runtime=_runtime(facts, processes.get(one.id)),
            figures=measured[one.id],
            incidents=[] if one.cgroup_id is None else incidents.get(one.cgroup_id, []),
        )
        for one in watched
    ]


def _runtime(facts: Facts, process_id: int | None) -> str | None:
    if process_id is None:
        return None
    go = _fact(facts, process_id, "go.version")
    if go is not None:
        return f"Go {go.removeprefix('go')}"
    name, version = _fact(facts, process_id, "runtime.name"), _fact(facts, process_id, "runtime.version")
    return None if name is None else " ".join(filter(None, (_RUNTIMES.get(name, name), version)))


def _fact(facts: Facts, resource_id: int, name: str) -> str | None:
    return next((one.value for one in reversed(facts.get(resource_id, ())) if one.name == name and one.value), None)


def _quantiles(session: Session, entries: Iterable[Entry], span: tuple[int, int]) -> dict[int, Quantiles]:
    return {one.row.id: figures.quantiles(session, one.watched, *span) for one in entries}


def _objectives(session: Session, entries: Sequence[Entry], span: tuple[int, int]) -> dict[int, Promised]:
    watched = {one.row.id: one.watched for one in entries}
    found = objectives.in_effect(session, list(watched))
    return {
        one: Promised(objective, figures.quantile(session, watched[one], objective.quantile, *span))
        for one, objective in found.items()
    }


_Key = Callable[[Entry], Any]


def _key(order: Order, quantiles: Mapping[int, Quantiles]) -> _Key:
    keys: dict[Order, _Key] = {
        "name": lambda one: one.row.name.lower(),
        "rate": lambda one: one.figures.requests_per_s,
        "failed": lambda one: one.figures.failed_ratio,
        "p50": lambda one: quantiles[one.row.id][0],
        "p99": lambda one: quantiles[one.row.id][1],
        "slow": lambda one: one.figures.slow_ratio,
        "worst": lambda one: one.figures.max_us,
        "runtime": lambda one: one.runtime,
        "stalls": _stalls,
    }
    return keys[order]


def _stalls(one: Entry) -> tuple[int, float] | None:
    throttled = one.figures.throttled_ms_per_min
    return None if throttled is None and not one.incidents else (len(one.incidents), throttled or 0.0)


def _ordered(entries: Sequence[Entry], key: _Key, descending: bool) -> list[Entry]:
    """Equal keys are ordered by name; entries without a key come last in both directions."""
    by_name = sorted(entries, key=lambda one: (one.row.name.lower(), one.row.id))
    known = [one for one in by_name if key(one) is not None]
    return sorted(known, key=key, reverse=descending) + [one for one in by_name if key(one) is None]
