"""The DNS server's part of the incident picture: connections, children against their limit, backlog, error lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.incidents.timeline.downsample import fold_max, fold_sum, pick
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, SubjectTree
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US

MAX_ERRORS = 500
_CHILDREN = "process_children"
_SERVER = (
    "dns_tcp_connections", "dns_tcp_idle", "dns_accept_backlog", "dns_listen_drops", "dns_listen_overflows",
    "dns_upstream_connections", "dns_upstream_idle",
)  # fmt: skip
_LIMIT = "dns.child_limit"

Columns = dict[str, Any]


def connections(session: Session, tree: SubjectTree, from_us: int, to_us: int, points: int) -> Columns | None:
    """The content of schemas.TimelineConnections for all servers of the tree together; None if nothing was measured."""
    servers = [row.id for row in tree.dns_servers]
    processes = [row.id for row in tree.processes]
    found = dict(series.read_series(session, servers, _SERVER, from_us, to_us)) if servers else {}
    if servers and processes:
        found |= series.read_series(session, processes, (_CHILDREN,), from_us, to_us)
    if not found:
        return None
    start_us = from_us - from_us % TICK_US
    ticks = -(-(to_us - start_us) // TICK_US)
    fold = max(1, -(-ticks // points))

    def most(name: str) -> FloatArray:
        return fold_max(_total(found, name, ticks), fold)

    # A socket's own count; if the kernel has none, that of its network namespace, which servers may share.
    overflows = [array for (_, name), array in found.items() if name == "dns_listen_overflows"]
    dropped = _total(found, "dns_listen_drops", ticks)
    if overflows:
        dropped = np.fmax(dropped, np.fmax.reduce(np.stack(overflows), axis=0))
    return {
        "t_us": start_us + np.arange(-(-ticks // fold), dtype=np.int64) * (TICK_US * fold),
        "step_us": TICK_US * fold,
        "connections": most("dns_tcp_connections"),
        "idle": most("dns_tcp_idle"),
        "children": most(_CHILDREN),
        "backlog": most("dns_accept_backlog"),
        "dropped": fold_sum(dropped, fold),
        "upstream": most("dns_upstream_connections"),
        "upstream_idle": most("dns_upstream_idle"),
    }


def child_limits(session: Session, tree: SubjectTree, from_us: int, to_us: int) -> list[Columns]:
    """Steps of the maximum number of children of a server; all its addresses share them."""
    facts = inventory.facts(session, [row.id for row in tree.dns_servers], from_us, to_us)
    return limit_steps([fact for rows in facts.values() for fact in rows], from_us)


def limit_steps(facts: Sequence[FactRow], from_us: int) -> list[Columns]:
    """The limit at the window's start, then each change."""
    steps: list[Columns] = []
    for fact in sorted((one for one in facts if one.name == _LIMIT), key=lambda one: one.since_us):
        if not fact.value.isdecimal():
            continue
        at_us, limit = max(fact.since_us, from_us), int(fact.value)
        if steps and steps[-1]["from_us"] == at_us:
            steps.pop()
        if not steps or steps[-1]["limit"] != limit:
            steps.append({"from_us": at_us, "limit": limit})
    return steps


def errors(session: Session, tree: SubjectTree, from_us: int, to_us: int) -> tuple[list[Columns], int]:
    """Error lines of the servers, sorted by time, and how many are left out.

    If there are too many, the events with the most lines are kept.
    """
    servers = [row.id for row in tree.dns_servers]
    by_server = series.read_events(session, servers, from_us, to_us, ["dns.error"]) if servers else {}
    events = sorted((event for found in by_server.values() for event in found), key=lambda event: event.start_us)
    lines = np.array([_count(event.attributes) for event in events], np.float64)
    keep = pick(lines, MAX_ERRORS)
    spans = [
        {
            "from_us": events[i].start_us,
            "to_us": events[i].start_us + events[i].duration_us,
            "label": events[i].attributes.get("kind", "other"),
            "attributes": dict(events[i].attributes),
        }
        for i in keep
    ]
    return spans, len(events) - len(spans)


def _count(attributes: Mapping[str, str]) -> int:
    text = attributes.get("count", "1")
    return int(text) if text.isdecimal() else 1


def _total(found: Mapping[tuple[int, str], FloatArray], name: str, ticks: int) -> FloatArray:
    """Sum over servers or processes; missing where all of them are."""
    arrays = [array for (_, metric), array in found.items() if metric == name]
    if not arrays:
        return np.full(ticks, np.nan)
    stacked = np.stack(arrays)
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))
