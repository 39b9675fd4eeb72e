"""The DNS path of a node: stations, names that cost most, clients that ask too much, and the three questions."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from jitterscope.answers import refuses
from jitterscope.bounds import HEAVY, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.areas.dns.affected import affected
from jitterscope.diagnosis.areas.dns.readings import amplification
from jitterscope.diagnosis.areas.dns.readings import names as dns_names
from jitterscope.diagnosis.areas.dns.readings import path as graphs
from jitterscope.diagnosis.core.snapshot import ResourceView, Snapshot
from jitterscope.dns import load, names, path
from jitterscope.dns.schemas import DnsAffected, DnsClients, DnsNames, DnsNode, DnsPath
from jitterscope.errors import Problem
from jitterscope.incidents.api import queries, views
from jitterscope.inventory.node_windows import NodeWindow
from jitterscope.inventory.types import ResourceRow
from jitterscope.requested_window import From, When
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/dns", tags=["dns"])
Reader = Annotated[Principal, Depends(require("resources:read"))]
Node = Annotated[
    int | None, Query(description="Resource id of a node or of anything on it; default: the node with the most servers")
]
Some = Annotated[
    list[int] | None, Query(max_length=32, description="Only these DNS servers; default: those that clients query")
]
Limit = Annotated[int, Query(ge=1, le=500)]
# The sources of the picture's parts.
_SOURCES = ("dns_capture", "dns_tcp", "process_children", "coredns_metrics", "dns_errors", "dns_names")


@router.get("/path")
@bounded(HEAVY)
@refuses(404, "The node does not exist in this organization.")
def get_dns_path(principal: Reader, node: Node = None, from_: From = None, to: When = None) -> DnsPath:
    """The path of queries through a node's DNS servers; by default the latest 5 min, at most 15 min."""
    with organization_session(principal.organization_id) as session:
        window = load.window(session, node, from_, to, _now_us(), load.MAX_WINDOW_US)
        picture, notes = path.Picture([], []), list[str]()
        if window.node is not None:
            found = load.servers(session, window.node, window.from_us, window.to_us)
            snapshot = load.snapshot(session, window.node, found, window.from_us, window.to_us)
            homes = {row.id for row in found.cgroups.values()}
            since = views.time_of(window.from_us)
            incidents = {cgroup: queries.seen_lately(session, cgroup, since) for cgroup in homes}
            processes = {server: row.id for server, row in found.processes.items()}
            picture = path.build(snapshot, processes, found.cgroups, incidents)
            notes = _notes(snapshot, found)
    return DnsPath(
        from_us=window.from_us,
        to_us=window.to_us,
        node=_node(window.node),
        nodes=[DnsNode(id=one.id, name=one.name) for one in window.nodes],
        hops=picture.hops,
        links=picture.links,
        notes=notes,
    )


@router.get("/names")
@bounded(HEAVY)
@refuses(404, "The node does not exist in this organization.")
def get_dns_names(
    principal: Reader,
    node: Node = None,
    server: Some = None,
    from_: From = None,
    to: When = None,
    order: names.Order = "queries",
    limit: Limit = 50,
) -> DnsNames:
    """The most expensive names: by queries, by NXDOMAIN answers, or by the total time of their answers. At most 1 h."""
    with organization_session(principal.organization_id) as session:
        window, spans, _ = _asked(session, node, server, from_, to)
    total = dns_names.total_queries(spans)
    listed = sum(row.queries for row in dns_names.merged(spans))
    return DnsNames(
        from_us=window.from_us,
        to_us=window.to_us,
        node=_node(window.node),
        seconds=dns_names.total_seconds(spans),
        queries=total,
        nxdomain=sum(span.nxdomain for span in spans),
        listed_ratio=listed / total if total else None,
        items=names.costliest(spans, order, limit),
    )


@router.get("/clients")
@bounded(HEAVY)
@refuses(404, "The node does not exist in this organization.")
def get_dns_clients(
    principal: Reader, node: Node = None, server: Some = None, from_: From = None, to: When = None, limit: Limit = 50
) -> DnsClients:
    """Clients by the queries that search domains cost them. At most 1 h."""
    with organization_session(principal.organization_id) as session:
        window, spans, workloads = _asked(session, node, server, from_, to)
    found = amplification.measure(spans, workloads)
    return DnsClients(
        from_us=window.from_us,
        to_us=window.to_us,
        node=_node(window.node),
        seconds=found.seconds,
        queries=found.queries,
        nxdomain=found.nxdomain,
        wasted=found.wasted,
        nonexistent=found.nonexistent,
        queries_per_lookup=names.overall(found),
        items=names.clients(found, limit),
    )


@router.get("/affected")
@bounded(HEAVY)
@refuses(404, "The node does not exist in this organization, or has no DNS server in the window.")
def get_dns_affected(principal: Reader, node: Node = None, from_: From = None, to: When = None) -> DnsAffected:
    """Does NodeLocal DNSCache exhaust kube-dns here? Three questions, answered from at most 15 min of data."""
    with organization_session(principal.organization_id) as session:
        window = load.window(session, node, from_, to, _now_us(), load.MAX_WINDOW_US)
        if window.node is None:
            raise Problem(
                404, "no-dns-server", "No DNS server", "No DNS servers in this window.",
                "Run a collector on a node with DNS servers, or choose another window.",
            )  # fmt: skip
        found = load.servers(session, window.node, window.from_us, window.to_us)
        result = affected(load.snapshot(session, window.node, found, window.from_us, window.to_us))
    return DnsAffected(
        from_us=window.from_us,
        to_us=window.to_us,
        node=_node(window.node),
        verdict=result.verdict,
        statement=result.statement,
        answers=result.answers,
    )


def _asked(
    session: Session, node: int | None, wanted: list[int] | None, from_: str | None, to: str | None
) -> tuple[NodeWindow, list[dns_names.NameSpan], list[ResourceView]]:
    """What was asked of the servers, and the facts of who may have."""
    window = load.window(session, node, from_, to, _now_us(), load.MAX_NAMES_WINDOW_US)
    if window.node is None:
        return window, [], []
    span = (window.from_us, window.to_us)
    rows = load.servers(session, window.node, *span).rows
    known = load.with_facts(session, rows, *span)
    asked = set(wanted) if wanted is not None else _entries(known, window)
    listed = load.names(session, tuple(row for row in rows if row.id in asked), *span)
    callers = tuple(load.workloads(session, window.node, *span))
    spans = [one for one in dns_names.spans(listed) if one.end_us > window.from_us and one.start_us < window.to_us]
    return window, spans, load.with_facts(session, callers, *span)


def _entries(servers: list[ResourceView], window: NodeWindow) -> set[int]:
    """Servers that no other server is set to ask: a query counts once, where it enters."""
    nothing = ResourceView(0, "node", "", "")
    graph = graphs.path(Snapshot(window.from_us, 1, nothing, nothing, neighbours=tuple(servers)))
    return {view.id for view in servers} - {edge.target for edge in graph.edges}


def _notes(snapshot: Snapshot, found: load.Servers) -> list[str]:
    notes = [f"{name}: {why}" for name, why in snapshot.unavailable.items() if name in _SOURCES]
    if len(found.rows) == load.MAX_SERVERS:
        notes.append(f"Only the {load.MAX_SERVERS} most recently seen server addresses are shown.")
    return notes


def _node(row: ResourceRow | None) -> DnsNode | None:
    return None if row is None else DnsNode(id=row.id, name=row.name)


def _now_us() -> int:
    return time.time_ns() // 1000
