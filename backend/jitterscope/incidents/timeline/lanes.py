"""The picture's lanes besides CPU and DNS, as declared by the area of the cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.area import Area, Lane, Line, Of
from jitterscope.diagnosis.core.sketch import quantile_us
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.incidents.timeline.downsample import fold_max, fold_sum
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import SubjectTree
from jitterscope.series import service as series
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US, StoredDistribution

Columns = dict[str, Any]

# A periodically read gauge holds its value until it should have been read twice; a longer silence is a gap.
_MOST_HOLD_TICKS = 150


def build(
    session: Session, tree: SubjectTree, area: Area | None, from_us: int, to_us: int, points: int
) -> list[Columns]:
    """The contents of schemas.TimelineLane; a lane without data, or with only zeros, is left out."""
    if area is None:
        return []
    lanes = [
        _spread(session, tree, lane, from_us, to_us)
        if any(line.quantile is not None for line in lane.lines)
        else _lane(session, tree, lane, from_us, to_us, points)
        for lane in area.lanes
    ]
    return [lane for lane in lanes if lane is not None]


def host_cpu(session: Session, node_id: int, from_us: int, to_us: int) -> FloatArray | None:
    """CPU time of a node per tick (µs): programs, kernel, and interrupts. None if it was not measured."""
    names = ("host_user_us", "host_system_us", "host_irq_us")
    found = series.read_series(session, [node_id], names, from_us, to_us)
    return np.sum(list(found.values()), axis=0) if len(found) == len(names) else None


def _lane(session: Session, tree: SubjectTree, lane: Lane, from_us: int, to_us: int, points: int) -> Columns | None:
    start_us = from_us - from_us % TICK_US
    ticks = -(-(to_us - start_us) // TICK_US)
    fold = max(1, -(-ticks // points))
    lines = []
    for line in lane.lines:
        values = _values(session, tree, line, from_us, to_us)
        if values is None:
            continue
        gauge = METRICS[line.metric].kind == "gauge"
        folded = fold_max(_held(values), fold) if gauge else fold_sum(values, fold)
        if lane.unit in ("cpu", "ratio"):  # a rate: the mean of the recorded ticks
            folded = folded / fold_sum(np.where(np.isnan(values), np.nan, 1.0), fold)
        lines.append(_line(line, folded * line.scale))
    if not any(np.nan_to_num(line["values"]).any() for line in lines):
        return None
    return {
        "id": lane.id,
        "title": lane.title,
        "unit": lane.unit,
        "t_us": start_us + np.arange(-(-ticks // fold), dtype=np.int64) * (TICK_US * fold),
        "step_us": TICK_US * fold,
        "lines": lines,
        "limits": _limits(session, tree, lane, from_us, to_us),
    }


def _line(line: Line, values: FloatArray) -> Columns:
    return {
        "name": line.name, "style": line.style, "hot": line.hot, "hot_above": line.hot_above, "values": values
    }  # fmt: skip


def _ids(tree: SubjectTree, of: Of) -> list[int]:
    rows = {
        "subject": (tree.subject,),
        "node": (tree.node,),
        "processes": tree.processes,
        "dns_servers": tree.dns_servers,
        "tcp_servers": tree.tcp_servers,
        "tcp_upstreams": tree.tcp_upstreams,
        "clients": tree.workloads,
    }[of]
    return [row.id for row in rows]


def _values(session: Session, tree: SubjectTree, line: Line, from_us: int, to_us: int) -> FloatArray | None:
    for metric in filter(None, (line.metric, line.instead)):
        ids = _ids(tree, line.of)
        found = list(series.read_series(session, ids, [metric], from_us, to_us).values()) if ids else []
        if not found and line.of == "subject" and tree.node.id != tree.subject.id:
            # If it is not measured for the container, the node's value includes it.
            found = list(series.read_series(session, [tree.node.id], [metric], from_us, to_us).values())
        if found:
            if METRICS[metric].kind == "gauge":
                found = [_held(one) for one in found]
            stacked = np.stack(found)
            return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))
    return None


def _held(values: FloatArray) -> FloatArray:
    """Hold each value until the next one, if that comes about as soon as usual."""
    read = np.flatnonzero(~np.isnan(values))
    usual = float(np.median(np.diff(read))) if len(read) > 1 else 0.0
    hold = 0.0 if usual <= 1 else min(_MOST_HOLD_TICKS, 2 * usual - 1)
    at = np.where(np.isnan(values), -1, np.arange(len(values)))
    last = np.maximum.accumulate(at)
    known = (last >= 0) & (np.arange(len(values)) - last <= hold)
    return np.where(known, values[np.maximum(last, 0)], np.nan)


def _limits(session: Session, tree: SubjectTree, lane: Lane, from_us: int, to_us: int) -> list[Columns]:
    """Steps of the lane's limit, from the subject or the first server that has it."""
    if lane.fact is None:
        return [] if lane.limit is None else [{"from_us": from_us, "value": lane.limit}]
    ids = [tree.subject.id, *(row.id for row in tree.dns_servers)]
    known = inventory.facts(session, ids, from_us, to_us)
    steps: list[Columns] = []
    named = [[fact for fact in known[one] if fact.name == lane.fact] for one in ids]
    for fact in next((facts for facts in named if facts), []):
        try:
            value: float | None = float(fact.value)
        except ValueError:
            continue
        steps.append({"from_us": max(fact.since_us, from_us), "value": value if value and value > 0 else None})
    return steps


def _spread(session: Session, tree: SubjectTree, lane: Lane, from_us: int, to_us: int) -> Columns | None:
    """Quantiles of distributions, with a point for each time at which they were recorded."""
    stored: dict[str, StoredDistribution] = {}
    for line in lane.lines:
        ids = _ids(tree, line.of)
        for metric in filter(None, (line.metric, line.instead)):
            found = series.read_distributions(session, ids, [metric], from_us, to_us) if ids else {}
            one = next((one for one in found.values() if len(one.tick)), None)
            if one is not None:
                stored[line.name] = one
                break
    if not stored:
        return None
    seen: Sequence[int] = np.unique(np.concatenate([one.tick for one in stored.values()])).tolist()
    lines = []
    for line in lane.lines:
        if line.name not in stored:
            continue
        one = stored[line.name]
        values = [
            quantile_us(one.bucket[at], one.count[at], line.quantile or 0.5) * line.scale
            if (at := one.tick == tick).any()
            else np.nan
            for tick in seen
        ]
        lines.append(_line(line, np.array(values, np.float64)))
    start_us = from_us - from_us % TICK_US
    return {
        "id": lane.id,
        "title": lane.title,
        "unit": lane.unit,
        "t_us": start_us + np.array(seen, np.int64) * TICK_US,
        "step_us": TICK_US,
        "lines": lines,
        "limits": _limits(session, tree, lane, from_us, to_us),
    }
