"""Single DNS queries of a window, merged from captures that may overlap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.kit.allowance import hold
from jitterscope.series.store import queries as store
from jitterscope.series.types import IntArray, StoredQueries

# No query block covers more time than this (limits.MAX_QUERY_SPAN_US of ingest).
_MAX_SPAN_US = 600_000_000
# Six columns, and their copies while they are joined, besides what was received.
_QUERY_BYTES = 75
_AT_ONCE = 20


@dataclass(slots=True)
class _Gathered:
    """Columns of one server: sent, latency, result, name, client, queue wait (-1: unknown)."""

    columns: list[list[IntArray]] = field(default_factory=lambda: [[] for _ in range(6)])
    names: dict[str, int] = field(default_factory=dict)
    clients: dict[str, int] = field(default_factory=dict)
    complete: list[tuple[int, int]] = field(default_factory=list)
    has_waits: bool = False


def read(session: Session, server_ids: Sequence[int], from_us: int, to_us: int) -> dict[int, StoredQueries]:
    """Queries of each server that has any capture in the window."""
    servers: dict[int, _Gathered] = defaultdict(_Gathered)
    with store.rows(session, server_ids, from_us - _MAX_SPAN_US, from_us, to_us, _AT_ONCE) as found:
        for row in found:
            server_id, start_us, end_us, complete, offsets, latencies, results, names, clients, waits = row[:10]
            hold(_QUERY_BYTES * len(offsets) // 4)
            gathered = servers[server_id]
            sent = np.frombuffer(offsets, "<u4").astype(np.int64) + start_us
            inside = (sent >= from_us) & (sent < to_us)
            gathered.has_waits |= waits is not None
            columns = (
                sent,
                np.frombuffer(latencies, "<u4").astype(np.int64),
                np.frombuffer(results, np.uint8).astype(np.int64),
                _translate(names, row[10], gathered.names),
                _translate(clients, row[11], gathered.clients),
                np.full(len(sent), -1) if waits is None else np.frombuffer(waits, "<u4").astype(np.int64),
            )
            for target, column in zip(gathered.columns, columns, strict=True):
                target.append(column[inside])
            if complete:
                gathered.complete.append((max(start_us, from_us), min(end_us, to_us)))
    return {server_id: _joined(gathered) for server_id, gathered in servers.items()}


def _translate(indices: bytes, texts: list[str], known: dict[str, int]) -> IntArray:
    """Translate indices into a block's own list to indices into the combined list."""
    own = np.frombuffer(indices, "<u4").astype(np.int64)
    mapping = np.array([known.setdefault(one, len(known)) for one in texts], np.int64)
    return mapping[own] if len(own) else own


def _joined(gathered: _Gathered) -> StoredQueries:
    sent, latency, result, name, client, wait = (np.concatenate(column) for column in gathered.columns)
    # The same query from two captures is equal in everything but the queue wait; the copy that knows it sorts last and
    # stays.
    order = np.lexsort((wait, result, name, client, latency, sent))
    key = np.stack([column[order] for column in (sent, latency, client, name, result)])
    last = np.ones(len(order), np.bool_)
    last[:-1] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    chosen = order[last]
    return StoredQueries(
        sent_us=sent[chosen],
        latency_us=latency[chosen],
        result=result[chosen],
        name=name[chosen],
        client=client[chosen],
        names=tuple(gathered.names),
        clients=tuple(gathered.clients),
        queue_wait_us=wait[chosen] if gathered.has_waits else None,
        complete=merge_spans(gathered.complete),
    )


def read_times(session: Session, server_ids: Sequence[int], from_us: int, to_us: int) -> dict[int, StoredQueries]:
    """Like `read`, without names and clients: there can be thousands per second, and these callers do not need them."""
    servers: dict[int, list[tuple[IntArray, IntArray, IntArray, IntArray, IntArray]]] = defaultdict(list)
    complete: dict[int, list[tuple[int, int]]] = defaultdict(list)
    with_waits: set[int] = set()
    with store.times(session, server_ids, from_us - _MAX_SPAN_US, from_us, to_us, _AT_ONCE) as rows:
        for number, (server_id, start_us, end_us, whole, offsets, latencies, results, waits) in enumerate(rows):
            hold(_QUERY_BYTES * len(offsets) // 4)
            sent = np.frombuffer(offsets, "<u4").astype(np.int64) + start_us
            inside = (sent >= from_us) & (sent < to_us)
            wait = np.full(len(sent), -1) if waits is None else np.frombuffer(waits, "<u4").astype(np.int64)
            latency, result = np.frombuffer(latencies, "<u4"), np.frombuffer(results, np.uint8)
            columns = (sent, latency.astype(np.int64), result.astype(np.int64), wait, np.full(len(sent), number))
            servers[server_id].append(tuple(column[inside] for column in columns))
            if waits is not None:
                with_waits.add(server_id)
            if whole:
                complete[server_id].append((max(start_us, from_us), min(end_us, to_us)))
    return {
        server_id: _distinct(parts, server_id in with_waits, merge_spans(complete[server_id]))
        for server_id, parts in servers.items()
    }


def _distinct(
    parts: Sequence[tuple[IntArray, ...]], has_waits: bool, complete: tuple[tuple[int, int], ...]
) -> StoredQueries:
    """Each query once: of equal ones in several captures the last; equal ones within one capture are different."""
    sent, latency, result, wait, block = (np.concatenate(column) for column in zip(*parts, strict=True))
    if len(sent) > 1 and not (np.diff(sent) > 0).all():
        order = _in_order(sent, latency, result, block, wait)
        key = np.stack([column[order] for column in (sent, latency, result)])
        same = np.zeros(len(order), np.bool_)
        same[1:] = (key[:, 1:] == key[:, :-1]).all(axis=0)
        if same.any():
            # How many equal queries of the same capture precede each: only one from another capture is the same query.
            again = same.copy()
            again[1:] &= np.diff(block[order]) == 0
            position = np.arange(len(order))
            rank = position - np.maximum.accumulate(np.where(again, 0, position))
            by_rank = np.lexsort((wait[order], rank, *key[::-1]))
            full = np.stack((*key, rank))[:, by_rank]
            last = np.ones(len(order), np.bool_)
            last[:-1] = (full[:, 1:] != full[:, :-1]).any(axis=0)
            order = order[by_rank[last]]
        sent, latency, result, wait = sent[order], latency[order], result[order], wait[order]
    nothing = np.empty(0, np.int64)
    return StoredQueries(sent, latency, result, nothing, nothing, (), (), wait if has_waits else None, complete)


def _in_order(sent: IntArray, *further: IntArray) -> IntArray:
    """The order by time, then by the further columns, which are sorted only where times are equal: that is rare."""
    order = np.argsort(sent, kind="stable")
    tied = np.zeros(len(order), np.bool_)
    tied[1:] = sent[order[1:]] == sent[order[:-1]]
    tied[:-1] |= tied[1:]
    equal = order[tied]
    order[tied] = equal[np.lexsort([column[equal] for column in (*further[::-1], sent)])]
    return order


def merge_spans(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Sorted spans without overlaps; touching spans are merged, empty ones are dropped."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
