"""Data of a node on which pods start: histograms, loads of programs, versions."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy.orm import Session

from jitterscope import requested_window
from jitterscope.diagnosis.areas.pods.readings import bpf_loads
from jitterscope.diagnosis.areas.pods.readings import events as pod_events
from jitterscope.diagnosis.areas.pods.readings.starts import PHASES
from jitterscope.diagnosis.core.snapshot import Distribution, Event, FactValue, ResourceView, Snapshot
from jitterscope.incidents.scheduling import snapshots
from jitterscope.inventory import node_windows
from jitterscope.inventory import service as inventory
from jitterscope.inventory.node_windows import NodeWindow
from jitterscope.inventory.types import ResourceRow
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, StoredEvent

DEFAULT_WINDOW_US = 3_600_000_000
MAX_WINDOW_US = 24 * 3_600_000_000
# Limits of what a page reads: nodes to choose from.
MAX_NODES = 200
_EVENTS = (bpf_loads.KIND, pod_events.KIND)
# A load is recorded at the cgroup of the agent.
MAX_CGROUPS = 1_000
_STARTS = ("pod_start_sli_us", "pod_start_total_us")


def window(session: Session, node_id: int | None, from_: str | None, to: str | None, now_us: int) -> NodeWindow:
    """By default the newest hour of the node on which most pods started. Raises Problem 404, 422."""
    chosen = requested_window.newest_window(from_, to, now_us, DEFAULT_WINDOW_US, MAX_WINDOW_US)
    start_us, end_us = requested_window.on_grid(*chosen)
    nodes = _nodes(session, start_us, end_us)
    node = node_windows.chosen(session, node_id, nodes)
    return node_windows.shown(session, (start_us, end_us), node, sorted(nodes, key=lambda row: row.name))


def _nodes(session: Session, from_us: int, to_us: int) -> list[ResourceRow]:
    """Nodes whose kubelet was ever scraped, those with the most starts first."""
    ids = inventory.nodes_seen(session, from_us)[:MAX_NODES]
    if not ids:
        return []
    facts = inventory.facts(session, ids, from_us, to_us)
    counts = dict.fromkeys(ids, 0)
    for (resource_id, _), found in series.read_distributions(session, ids, list(_STARTS), from_us, to_us).items():
        counts[resource_id] += int(found.count.sum())
    told = [one for one in ids if counts[one] or any(fact.name == "node.kubelet" for fact in facts.get(one, ()))]
    rows = inventory.resources(session, told)
    return sorted(rows.values(), key=lambda row: (-counts[row.id], row.name, row.id))


def snapshot(session: Session, node: ResourceRow, from_us: int, to_us: int) -> Snapshot:
    """The node's histograms of starts, loads of programs, and facts; of its series, only those about loads."""
    histograms = series.read_distributions(session, [node.id], list(PHASES), from_us, to_us)
    values = series.read_series(session, [node.id], ["bpf_loads", "bpf_load_us"], from_us, to_us)
    facts = inventory.facts(session, [node.id], from_us, to_us).get(node.id, ())
    groups = inventory.of_kind_on_node(session, node.id, "cgroup", from_us, to_us, MAX_CGROUPS)
    loads = series.read_events(session, [node.id, *(row.id for row in groups)], from_us, to_us, _EVENTS)
    view = ResourceView(
        id=node.id, kind=node.kind, key=node.key, name=node.name,
        series={name: array for (_, name), array in values.items()},
        distributions={name: Distribution(one.tick, one.bucket, one.count) for (_, name), one in histograms.items()},
        facts=tuple(FactValue(fact.name, fact.value, fact.since_us) for fact in facts),
        events=_events(loads.get(node.id, ())),
    )  # fmt: skip
    loaders = tuple(
        ResourceView(id=row.id, kind=row.kind, key=row.key, name=row.name, events=_events(loads[row.id]))
        for row in groups
        if loads.get(row.id)
    )
    unavailable = snapshots.unavailable_sources(session, node.id)
    return Snapshot(from_us, (to_us - from_us) // TICK_US, view, view, cgroups=loaders, unavailable=unavailable)


def _events(stored: Iterable[StoredEvent]) -> tuple[Event, ...]:
    return tuple(Event(one.kind, one.start_us, one.duration_us, one.attributes) for one in stored)
