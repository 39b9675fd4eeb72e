"""Everything the incident picture shows of a cgroup or a node in a window: columns, within a budget of points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.area import Area
from jitterscope.diagnosis.core.gc import EVENTS as GC_EVENTS
from jitterscope.diagnosis.core.served import METRICS, Figure, matter, metrics
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.scheduling.snapshots import unavailable_sources
from jitterscope.incidents.timeline import dns as timeline_dns
from jitterscope.incidents.timeline import lanes as timeline_lanes
from jitterscope.incidents.timeline import marks as timeline_marks
from jitterscope.incidents.timeline.downsample import fold_max, fold_sum, median_per_tick, pick, runs
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, ResourceRow, SubjectTree
from jitterscope.objectives import service as objectives
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, ZOOM_STEP_US, StoredQueries

# 10 ms ticks exist around triggers only; wider windows would mix both.
ZOOM_WINDOW_US = 30_000_000
# A dozen lines of ticks: of more time they are neither read in time nor seen.
LANES_WINDOW_US = 6 * 3600 * 1_000_000
MAX_SPANS = 2_000
_CPU = ("cpu_usage_us", "cpu_throttled_us", "cpu_throttled_periods")
_RATE: tuple[Figure, ...] = ("requests", "slow", "latency_max")
_NOUNS = {"dns_server": "queries", "tcp_server": "requests"}
_LIMIT_FACTS = ("cpu.quota_us", "cpu.period_us")

Columns = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a response may hold: points of each line, and single queries."""

    points: int
    queries: int


def build(
    session: Session, tree: SubjectTree, from_us: int, to_us: int, budget: Budget, area: Area | None = None
) -> Columns:
    """The content of schemas.Timeline; arrays are numpy, NaN stands for a missing tick. `area`: which lanes besides."""
    of_node = tree.subject.id == tree.node.id
    servers = _servers(session, tree, from_us, to_us)
    server_ids = [row.id for row in servers]
    if to_us - from_us > LANES_WINDOW_US:
        area = None
    cpu, throttled = _cpu(session, tree.subject.id, from_us, to_us, budget.points, of_node)
    queries, stored_any = _queries(session, server_ids, from_us, to_us, budget.queries)
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
        "cpu": cpu,
        "limits": _limits(inventory.facts(session, [subject.id], from_us, to_us)[subject.id], from_us),
        "throttled": throttled,
        "gc": gc,
        "queries": queries,
        "rate": _rate(session, servers, from_us, to_us, budget.points),
        "connections": timeline_dns.connections(session, tree, from_us, to_us, budget.points),
        "child_limits": timeline_dns.child_limits(session, tree, from_us, to_us),
        "errors": errors,
        "lanes": timeline_lanes.build(session, tree, area, from_us, to_us, budget.points),
        "marks": marks,
        "slow_threshold_us": _slow_after_us(session, server_ids),
        "notes": notes,
    }


def _cpu(
    session: Session, subject_id: int, from_us: int, to_us: int, points: int, of_node: bool
) -> tuple[Columns, list[Columns]]:
    step_us = TICK_US
    found: Mapping[tuple[int, str], FloatArray] = {}
    if to_us - from_us <= ZOOM_WINDOW_US and not of_node:
        found = series.read_series(session, [subject_id], _CPU, from_us, to_us, ZOOM_STEP_US)
        step_us = ZOOM_STEP_US
    if (subject_id, _CPU[0]) not in found:
        found = series.read_series(session, [subject_id], _CPU, from_us, to_us)
        step_us = TICK_US
    start_us = from_us - from_us % step_us
    ticks = -(-(to_us - start_us) // step_us)
    usage, throttled_us, periods = (found.get((subject_id, name), np.full(ticks, np.nan)) for name in _CPU)
    if of_node and (host := timeline_lanes.host_cpu(session, subject_id, from_us, to_us)) is not None:
        usage = host
    fold = max(1, -(-ticks // points))
    column = {
        "t_us": start_us + np.arange(-(-ticks // fold), dtype=np.int64) * (step_us * fold),
        "step_us": step_us * fold,
        "cpu_ratio": fold_max(usage, fold) / step_us,
        "throttled_us": fold_sum(throttled_us, fold),
        "throttled_periods": fold_sum(periods, fold),
    }
    return column, _throttled_spans(start_us, step_us, throttled_us, periods)


def _throttled_spans(start_us: int, step_us: int, throttled_us: FloatArray, periods: FloatArray) -> list[Columns]:
    """Runs of ticks with throttling; the longest where there are too many to draw."""
    lost, ended = np.nan_to_num(throttled_us), np.nan_to_num(periods)
    first, last = runs((lost > 0) | (ended > 0))
    keep = pick((last - first).astype(np.float64), MAX_SPANS)
    return [
        _span(
            start_us + int(a) * step_us,
            start_us + int(b) * step_us,
            "throttled",
            {"throttled_ms": f"{lost[a:b].sum() / 1000:.1f}", "periods": f"{ended[a:b].sum():.0f}"},
        )
        for a, b in zip(first[keep], last[keep], strict=True)
    ]


def _limits(facts: Sequence[FactRow], from_us: int) -> list[Columns]:
    """Steps of the CPU limit; the first one holds from the window's start, unless nothing was known then."""
    current: dict[str, float] = {}
    steps: list[Columns] = []
    for fact in facts:
        if fact.name not in _LIMIT_FACTS:
            continue
        try:
            current[fact.name] = float(fact.value)
        except ValueError:
            continue
        quota, period = current.get("cpu.quota_us"), current.get("cpu.period_us", 100_000.0)
        if quota is None or period <= 0:
            continue
        limit = None if quota <= 0 else quota / period
        at_us = max(fact.since_us, from_us)
        if steps and steps[-1]["from_us"] == at_us:
            steps.pop()
        if not steps or steps[-1]["cpu_limit"] != limit:
            steps.append({"from_us": at_us, "cpu_limit": limit})
    return steps


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


def _queries(
    session: Session, server_ids: Sequence[int], from_us: int, to_us: int, budget: int
) -> tuple[Columns, bool]:
    found = series.read_queries(session, server_ids, from_us, to_us) if server_ids else {}
    names: dict[str, int] = {}
    stored = list(found.values())
    # Each server counts its names by itself: renumber them into one list.
    index = [np.array([names.setdefault(name, len(names)) for name in one.names], np.int64) for one in stored]
    sent = _join([one.sent_us for one in stored])
    latency = _join([one.latency_us for one in stored])
    keep = _most_telling(latency, budget)
    keep = keep[np.argsort(sent[keep], kind="stable")]
    name = _join([numbers[one.name] for one, numbers in zip(stored, index, strict=True) if len(one.name)])
    spans = sorted(span for one in stored for span in one.complete)
    column: Columns = {
        "t_us": sent[keep],
        "latency_us": latency[keep],
        "result": _join([one.result for one in stored])[keep],
        "queue_wait_us": _queue_wait(stored, keep),
        "name": name[keep],
        "names": list(names),
        "complete": [(max(a, from_us), min(b, to_us)) for a, b in spans],
        "truncated": len(sent) - len(keep),
    }
    return column, bool(stored)


def _queue_wait(stored: Sequence[StoredQueries], keep: IntArray) -> IntArray | None:
    """-1 where the kernel's split was not available for a query; None where it never was."""
    if all(one.queue_wait_us is None for one in stored):
        return None
    parts = [np.full(len(one.sent_us), -1) if one.queue_wait_us is None else one.queue_wait_us for one in stored]
    return _join(parts)[keep]


def _most_telling(latency_us: IntArray, budget: int) -> IntArray:
    """All slow ones and an even sample of the rest; an even sample of the slow ones where even they are too many."""
    slow = np.flatnonzero(latency_us > SLOW_US)
    if len(latency_us) <= budget:
        return np.arange(len(latency_us))
    if len(slow) >= budget:
        return slow[np.linspace(0, len(slow) - 1, budget).astype(np.int64)]
    rest = np.flatnonzero(latency_us <= SLOW_US)
    return np.concatenate([slow, rest[np.linspace(0, len(rest) - 1, budget - len(slow)).astype(np.int64)]])


def _slow_after_us(session: Session, server_ids: Sequence[int]) -> int:
    """The objective that all servers have, else 20 ms."""
    found = objectives.in_effect(session, server_ids)
    limits = {one.limit_us for one in found.values()}
    return limits.pop() if len(limits) == 1 and len(found) == len(server_ids) else SLOW_US


def _servers(session: Session, tree: SubjectTree, from_us: int, to_us: int) -> list[ResourceRow]:
    """Those that a diagnosis would look at."""
    if not tree.tcp_servers:
        return list(tree.dns_servers)
    rows = (*tree.dns_servers, *tree.tcp_servers)
    found = series.read_series(session, [row.id for row in rows], metrics("requests"), from_us, to_us)

    def counted(of: Sequence[ResourceRow]) -> list[tuple[str, float]]:
        values = (found.get((row.id, METRICS["requests"][row.kind])) for row in of)
        return [(row.key, 0.0 if one is None else float(np.nansum(one))) for row, one in zip(of, values, strict=True)]

    kept = matter(counted(tree.dns_servers), counted(tree.tcp_servers), of_node=tree.subject.id == tree.node.id)
    return [*tree.dns_servers, *compress(tree.tcp_servers, kept)]


def _rate(session: Session, servers: Sequence[ResourceRow], from_us: int, to_us: int, points: int) -> Columns:
    start_us = from_us - from_us % TICK_US
    ticks = -(-(to_us - start_us) // TICK_US)
    fold = max(1, -(-ticks // points))
    size = -(-ticks // fold)
    ids = [row.id for row in servers]
    found = series.read_series(session, ids, metrics(*_RATE), from_us, to_us) if ids else {}

    def of(figure: Figure) -> list[FloatArray]:
        keys = ((row.id, METRICS[figure][row.kind]) for row in servers)
        return [found[key] for key in keys if key in found]

    p50 = np.full(size, np.nan)
    if ids:
        stored = series.read_distributions(session, ids, metrics("latency"), from_us, to_us)
        p50 = median_per_tick(
            _join([one.tick for one in stored.values()]) // fold,
            _join([one.bucket for one in stored.values()]),
            _join([one.count for one in stored.values()]),
            size,
        )
    return {
        "t_us": start_us + np.arange(size, dtype=np.int64) * (TICK_US * fold),
        "step_us": TICK_US * fold,
        "queries": fold_sum(_total(of("requests"), ticks), fold),
        "slow": fold_sum(_total(of("slow"), ticks), fold),
        "latency_p50_us": p50,
        "latency_max_us": fold_max(_largest(of("latency_max"), ticks), fold),
    }


def _total(arrays: Sequence[FloatArray], ticks: int) -> FloatArray:
    """Sum over servers; missing where all are."""
    if not arrays:
        return np.full(ticks, np.nan)
    stacked = np.stack(arrays)
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))


def _largest(arrays: Sequence[FloatArray], ticks: int) -> FloatArray:
    return np.fmax.reduce(np.stack(arrays), axis=0) if arrays else np.full(ticks, np.nan)


def _join(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate(arrays).astype(np.int64) if arrays else np.empty(0, np.int64)


def _span(from_us: int, to_us: int, label: str, attributes: dict[str, str]) -> Columns:
    return {"from_us": from_us, "to_us": to_us, "label": label, "attributes": attributes}
