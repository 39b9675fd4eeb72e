"""The picture's answers: single ones where they were kept, and counts of all of them in each tick."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.served import METRICS, Figure, metrics
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray
from jitterscope.incidents.timeline.downsample import fold_max, fold_sum, median_per_tick
from jitterscope.inventory.types import ResourceRow
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, StoredDistribution, StoredQueries

_COUNTED: tuple[Figure, ...] = ("requests", "slow", "latency_max")

Columns = dict[str, Any]
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Budget:
    """The size limit of a response: points per line, and single queries."""

    points: int
    queries: int


def build(
    session: Session, servers: Sequence[ResourceRow], from_us: int, to_us: int, budget: Budget, slow_after_us: int
) -> tuple[Columns, Columns, bool]:
    """The contents of schemas.TimelineQueries and schemas.TimelineRate, and whether any single query was kept."""
    ids = [row.id for row in servers]
    found = series.read_series(session, ids, metrics(*_COUNTED), from_us, to_us) if ids else {}
    timed = series.read_distributions(session, ids, metrics("latency"), from_us, to_us) if ids else {}
    stored = series.read_queries(session, ids, from_us, to_us) if ids else {}
    asked = {row.id for row in servers if _asked(found.get((row.id, METRICS["requests"][row.kind])))}
    # A server without requests has no answers to keep.
    kept = everywhere([stored[one].complete if one in stored else () for one in ids if one in asked or one in stored])
    queries = _single(list(stored.values()), budget.queries, slow_after_us)
    queries["complete"] = [(max(a, from_us), min(b, to_us)) for a, b in kept]
    rate = _rate(servers, found, list(timed.values()), from_us, to_us, budget.points, slow_after_us)
    return queries, rate, bool(stored)


def everywhere(each: Sequence[Spans]) -> list[tuple[int, int]]:
    """Times covered by the spans of all; the spans of one do not overlap."""
    if not each:
        return []
    edges = sorted([(a, 1) for spans in each for a, _ in spans] + [(b, -1) for spans in each for _, b in spans])
    found: list[tuple[int, int]] = []
    depth = 0
    for at, step in edges:
        if depth == len(each) and step < 0:
            found.append((found.pop()[0], at))
        depth += step
        if depth == len(each):
            found.append((at, at))
    return found


def most_telling(latency_us: IntArray, budget: int, slow_after_us: int = SLOW_US) -> IntArray:
    """All slow ones and an even sample of the rest; an even sample of the slow ones if they alone are too many."""
    slow = np.flatnonzero(latency_us > slow_after_us)
    if len(latency_us) <= budget:
        return np.arange(len(latency_us))
    if len(slow) >= budget:
        return slow[np.linspace(0, len(slow) - 1, budget).astype(np.int64)]
    rest = np.flatnonzero(latency_us <= slow_after_us)
    return np.concatenate([slow, rest[np.linspace(0, len(rest) - 1, budget - len(slow)).astype(np.int64)]])


def _asked(requests: FloatArray | None) -> bool:
    return requests is not None and bool(np.nansum(requests) > 0)


def _single(stored: Sequence[StoredQueries], budget: int, slow_after_us: int) -> Columns:
    names: dict[str, int] = {}
    # Each server numbers its names separately: renumber them into one list.
    index = [np.array([names.setdefault(name, len(names)) for name in one.names], np.int64) for one in stored]
    sent = _join(one.sent_us for one in stored)
    latency = _join(one.latency_us for one in stored)
    columns = {
        "t_us": sent,
        "latency_us": latency,
        "result": _join(one.result for one in stored),
        "queue_wait_us": _queue_wait(stored),
        "name": _join(numbers[one.name] for one, numbers in zip(stored, index, strict=True) if len(one.name)),
        "names": list(names),
        "truncated": 0,
    }
    return thinned(columns, budget, slow_after_us)


def thinned(queries: Columns, budget: int, slow_after_us: int) -> Columns:
    """The most telling ones, sorted by time; the rest is counted as left out, and unused names are dropped."""
    sent: IntArray = queries["t_us"]
    keep = most_telling(queries["latency_us"], budget, slow_after_us)
    keep = keep[np.argsort(sent[keep], kind="stable")]
    used, name = np.unique(queries["name"][keep], return_inverse=True)
    wait = queries["queue_wait_us"]
    return {
        **queries,
        **{column: queries[column][keep] for column in ("t_us", "latency_us", "result")},
        "queue_wait_us": None if wait is None else wait[keep],
        "name": name,
        "names": [queries["names"][at] for at in used.tolist()],
        "truncated": queries["truncated"] + len(sent) - len(keep),
    }


def _queue_wait(stored: Sequence[StoredQueries]) -> IntArray | None:
    """-1 where the kernel's split was not available for a query; None if it never was."""
    if all(one.queue_wait_us is None for one in stored):
        return None
    return _join(np.full(len(one.sent_us), -1) if one.queue_wait_us is None else one.queue_wait_us for one in stored)


def _rate(
    servers: Sequence[ResourceRow],
    found: Mapping[tuple[int, str], FloatArray],
    timed: Sequence[StoredDistribution],
    from_us: int,
    to_us: int,
    points: int,
    slow_after_us: int,
) -> Columns:
    start_us = from_us - from_us % TICK_US
    ticks = -(-(to_us - start_us) // TICK_US)
    fold = max(1, -(-ticks // points))
    size = -(-ticks // fold)

    def of(figure: Figure) -> list[FloatArray]:
        keys = ((row.id, METRICS[figure][row.kind]) for row in servers)
        return [found[key] for key in keys if key in found]

    requests = fold_sum(_total(of("requests"), ticks), fold)
    tick, bucket, count = (
        _join(part) for part in ([getattr(one, name) for one in timed] for name in ("tick", "bucket", "count"))
    )
    if slow_after_us == SLOW_US:
        slow = fold_sum(_total(of("slow"), ticks), fold)
    else:
        # The counters only know 20 ms; the histograms support any limit, within 2 %.
        late = (value_of(bucket) > slow_after_us) & (tick >= 0) & (tick < ticks)
        counted = np.bincount(tick[late] // fold, weights=count[late], minlength=size)
        slow = np.where(np.isfinite(requests), counted, np.nan) if len(timed) else np.full(size, np.nan)
    return {
        "t_us": start_us + np.arange(size, dtype=np.int64) * (TICK_US * fold),
        "step_us": TICK_US * fold,
        "queries": requests,
        "slow": slow,
        "latency_p50_us": median_per_tick(tick // fold, bucket, count, size),
        "latency_max_us": fold_max(_largest(of("latency_max"), ticks), fold),
    }


def _total(arrays: Sequence[FloatArray], ticks: int) -> FloatArray:
    """Sum over servers; missing where all of them are."""
    if not arrays:
        return np.full(ticks, np.nan)
    stacked = np.stack(arrays)
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))


def _largest(arrays: Sequence[FloatArray], ticks: int) -> FloatArray:
    return np.fmax.reduce(np.stack(arrays), axis=0) if arrays else np.full(ticks, np.nan)


def _join(arrays: Iterable[IntArray]) -> IntArray:
    parts = list(arrays)
    return np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)
