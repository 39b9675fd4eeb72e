"""Everything the incident picture shows of a cgroup or a node in a window: columns, within a budget of points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.area import Area
from jitterscope.diagnosis.core.gc import EVENTS as GC_EVENTS
from jitterscope.diagnosis.core.served import METRICS, matter, metrics
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.scheduling.snapshots import unavailable_sources
from jitterscope.incidents.timeline import answers as timeline_answers
from jitterscope.incidents.timeline import cpu as timeline_cpu
from jitterscope.incidents.timeline import dns as timeline_dns
from jitterscope.incidents.timeline import lanes as timeline_lanes
from jitterscope.incidents.timeline import marks as timeline_marks
from jitterscope.incidents.timeline.answers import Budget
from jitterscope.incidents.timeline.downsample import pick
from jitterscope.inventory.types import ResourceRow, SubjectTree
from jitterscope.objectives import service as objectives
from jitterscope.series import service as series

# A dozen lines of ticks: for longer windows they are too slow to read and too dense to see.
LANES_WINDOW_US = 6 * 3600 * 1_000_000
MAX_SPANS = 2_000
_NOUNS = {"dns_server": "queries", "tcp_server": "requests"}

Columns = dict[str, Any]


def build(
    session: Session, tree: SubjectTree, from_us: int, to_us: int, budget: Budget, area: Area | None = None
) -> Columns:
    """The content of schemas.Timeline; arrays are numpy, NaN is a missing tick. `area`: which extra lanes to add."""
    of_node = tree.subject.id == tree.node.id
    servers = _servers(session, tree, from_us, to_us)
    server_ids = [row.id for row in servers]
    if to_us - from_us > LANES_WINDOW_US:
        area = None
    slow_after_us = _slow_after_us(session, server_ids)
    queries, rate, stored_any = timeline_answers.build(session, servers, from_us, to_us, budget, slow_after_us)
    gc, gc_dropped = ([], 0) if of_node else _gc(session, tree, from_us, to_us)
    marks, marks_dropped = timeline_marks.build(session, tree, area, from_us, to_us)
    errors, errors_dropped = timeline_dns.errors(session, tree, from_us, to_us)
    subject = tree.subject
    notes = [f"{name}: {why}" for name, why in unavailable_sources(session, tree.node.id).items()]
    if server_ids and not stored_any:
        what = " or ".join(_NOUNS[kind] for kind in _NOUNS if any(row.kind == kind for row in servers))
        notes.append(f"No single {what} in this window: only slow ones and those around triggers are kept.")
    if gc_dropped:
        notes.append(f"{gc_dropped} of the shortest GC cycles are not shown. Zoom in to see them.")
    if errors_dropped:
        notes.append(f"{errors_dropped} seconds with fewer error lines are not shown. Zoom in to see them.")
    if marks_dropped:
        notes.append(f"{marks_dropped} of the shortest events are not shown. Zoom in to see them.")
    return {
        "from_us": from_us,
        "to_us": to_us,
        "subject": SubjectRef(
            resource_id=subject.id, kind=subject.kind, key=subject.key, name=subject.name, node=tree.node.name
        ).model_dump(),
        "served": [noun for kind, noun in _NOUNS.items() if any(row.kind == kind for row in servers)],
        **timeline_cpu.build(session, tree, from_us, to_us, budget.points),
        "gc": gc,
        "queries": queries,
        "rate": rate,
        "connections": timeline_dns.connections(session, tree, from_us, to_us, budget.points),
        "child_limits": timeline_dns.child_limits(session, tree, from_us, to_us),
        "errors": errors,
        "lanes": timeline_lanes.build(session, tree, area, from_us, to_us, budget.points),
        "marks": marks,
        "slow_threshold_us": slow_after_us,
        "notes": notes,
    }


def _gc(session: Session, tree: SubjectTree, from_us: int, to_us: int) -> tuple[list[Columns], int]:
    names = {row.id: row.name for row in tree.processes}
    if not names:
        return [], 0
    by_process = series.read_events(session, list(names), from_us, to_us, GC_EVENTS)
    events = [event for found in by_process.values() for event in found]
    keep = pick(np.array([event.duration_us for event in events], np.float64), MAX_SPANS)
    spans = [
        _span(
            events[i].start_us,
            events[i].start_us + events[i].duration_us,
            "GC",
            {"process": names[events[i].resource_id], **events[i].attributes},
        )
        for i in keep
    ]
    return sorted(spans, key=lambda span: int(span["from_us"])), len(events) - len(spans)


def _slow_after_us(session: Session, server_ids: Sequence[int]) -> int:
    """The objective that all servers share, otherwise 20 ms."""
    found = objectives.in_effect(session, server_ids)
    limits = {one.limit_us for one in found.values()}
    return limits.pop() if len(limits) == 1 and len(found) == len(server_ids) else SLOW_US


def _servers(session: Session, tree: SubjectTree, from_us: int, to_us: int) -> list[ResourceRow]:
    """The servers that a diagnosis would look at."""
    if not tree.tcp_servers:
        return list(tree.dns_servers)
    rows = (*tree.dns_servers, *tree.tcp_servers)
    found = series.read_series(session, [row.id for row in rows], metrics("requests"), from_us, to_us)

    def counted(of: Sequence[ResourceRow]) -> list[tuple[str, float]]:
        values = (found.get((row.id, METRICS["requests"][row.kind])) for row in of)
        return [(row.key, 0.0 if one is None else float(np.nansum(one))) for row, one in zip(of, values, strict=True)]

    kept = matter(counted(tree.dns_servers), counted(tree.tcp_servers), of_node=tree.subject.id == tree.node.id)
    return [*tree.dns_servers, *compress(tree.tcp_servers, kept)]


def _span(from_us: int, to_us: int, label: str, attributes: dict[str, str]) -> Columns:
    return {"from_us": from_us, "to_us": to_us, "label": label, "attributes": attributes}
