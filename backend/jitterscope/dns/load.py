"""Reads a node's DNS data from the database: the servers with their processes and cgroups, and their clients."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope import requested_window
from jitterscope.diagnosis.areas.dns.readings.names import KIND as NAMES
from jitterscope.diagnosis.core.snapshot import Event, FactValue, ResourceView, Snapshot
from jitterscope.incidents.scheduling import snapshots
from jitterscope.inventory import node_windows
from jitterscope.inventory import service as inventory
from jitterscope.inventory.node_windows import NodeWindow
from jitterscope.inventory.types import ResourceRow, SubjectTree
from jitterscope.series import service as series

# Limits of what a page reads: on a node with more servers, those seen last are shown.
MAX_SERVERS, MAX_PATHS, MAX_WORKLOADS = 16, 144, 500
MAX_WINDOW_US = 900_000_000
MAX_NAMES_WINDOW_US = 3_600_000_000
DEFAULT_WINDOW_US = 300_000_000


@dataclass(frozen=True, slots=True)
class Servers:
    """DNS servers of a node, and the process and cgroup of each, by its id."""

    rows: tuple[ResourceRow, ...]
    processes: dict[int, ResourceRow]
    cgroups: dict[int, ResourceRow]


def window(
    session: Session, node_id: int | None, from_: str | None, to: str | None, now_us: int, longest_us: int
) -> NodeWindow:
    """By default the newest five minutes of the node with the most servers. Raises Problem 404, 422."""
    since_us, until_us = requested_window.newest_window(from_, to, now_us, DEFAULT_WINDOW_US, longest_us)
    nodes = inventory.dns_nodes(session, since_us, until_us)
    node = node_windows.chosen(session, node_id, nodes)
    if to is None and node is not None:
        newest_us = inventory.node_clock_us(session, node.id) or until_us
        if from_ is None:
            since_us += newest_us - until_us
        until_us = newest_us if newest_us > since_us else until_us
    return node_windows.shown(session, requested_window.on_grid(since_us, until_us), node, nodes)


def servers(session: Session, node: ResourceRow, from_us: int, to_us: int) -> Servers:
    """The node's DNS servers in a window, by id."""
    found = inventory.of_kind_on_node(session, node.id, "dns_server", from_us, to_us, MAX_SERVERS)
    rows = tuple(sorted(found, key=lambda row: row.id))
    processes: dict[int, ResourceRow] = {}
    cgroups: dict[int, ResourceRow] = {}
    for row in rows:
        above = inventory.ancestors(session, row.id)
        for kind, known in (("process", processes), ("cgroup", cgroups)):
            nearest = next((one for one in above if one.kind == kind), None)
            if nearest is not None:
                known[row.id] = nearest
    return Servers(rows, processes, cgroups)


def snapshot(session: Session, node: ResourceRow, found: Servers, from_us: int, to_us: int) -> Snapshot:
    """All measurements of the node's servers, as a snapshot whose subject is the node."""
    ids = {row.id for row in found.rows}
    paths = inventory.of_kind_on_node(session, node.id, "dns_path", from_us, to_us, MAX_PATHS)
    tree = SubjectTree(
        subject=node,
        node=node,
        processes=tuple({row.id: row for row in found.processes.values()}.values()),
        dns_paths=tuple(sorted((row for row in paths if row.parent_id in ids), key=lambda row: row.id)),
        neighbours=found.rows,
        workloads=tuple(workloads(session, node, from_us, to_us)),
    )
    return snapshots.read(session, tree, from_us, to_us)


def workloads(session: Session, node: ResourceRow, from_us: int, to_us: int) -> list[ResourceRow]:
    """Cgroups of the node whose resolv.conf is known."""
    return inventory.asking_cgroups(session, node.id, from_us, to_us, MAX_WORKLOADS)


def names(session: Session, rows: tuple[ResourceRow, ...], from_us: int, to_us: int) -> list[ResourceView]:
    """Servers with only their facts and lists of names."""
    ids = [row.id for row in rows]
    events = series.read_events(session, ids, from_us, to_us, [NAMES]) if ids else {}
    return [
        ResourceView(
            id=view.id, kind=view.kind, key=view.key, name=view.name, facts=view.facts,
            events=tuple(Event(one.kind, one.start_us, one.duration_us, one.attributes)
                         for one in events.get(view.id, ())),
        )
        for view in with_facts(session, rows, from_us, to_us)
    ]  # fmt: skip


def with_facts(session: Session, rows: tuple[ResourceRow, ...], from_us: int, to_us: int) -> list[ResourceView]:
    """Views with only their facts."""
    facts = inventory.facts(session, [row.id for row in rows], from_us, to_us)
    return [
        ResourceView(
            id=row.id, kind=row.kind, key=row.key, name=row.name,
            facts=tuple(FactValue(fact.name, fact.value, fact.since_us) for fact in facts.get(row.id, ())),
        )
        for row in rows
    ]  # fmt: skip
