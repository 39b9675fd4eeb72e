"""Series of other systems, with their own names, labels, and sampling times (Prometheus remote write).

Name and labels identify a series in its organization. Its resource is what its newest samples belong to.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.db import after_commit
from jitterscope.kit.allowance import borrowed, hold
from jitterscope.kit.perobject import PerObject
from jitterscope.series.store import external as stored
from jitterscope.series.types import FloatArray, IntArray
from jitterscope.tenancy import limits

# A row covers less than this; retention, compaction, and readers rely on it.
ROW_US = 3_600_000_000
_MAX_CACHED = 200_000
# Rows received together.
_AT_ONCE = 200
# What one transaction compacts: bytes of times, with as many of values, and series.
_PART_BYTES = 8 * 1024 * 1024
_PART_SERIES = 5000

# Precision of `last_seen_at`: the row of a series is updated again after this much time.
SEEN_EVERY_S = 3600


@dataclass(frozen=True, slots=True)
class _Known:
    """The contents of a series' row. `period` counts SEEN_EVERY_S."""

    id: int
    resource_id: int
    period: int


_Ids = dict[tuple[int, bytes], _Known]
_caches: PerObject[_Ids] = PerObject(dict)


@dataclass(frozen=True, slots=True)
class Samples:
    """New samples of one series: times (µs) and values, parallel."""

    resource_id: int
    name: str
    labels: Mapping[str, str]
    kind: str
    times_us: IntArray
    values: FloatArray


def store(session: Session, organization_id: int, samples: Sequence[Samples]) -> None:
    """Write samples. A sample at a time that the series already has overwrites the old one.

    Raises Problem 429 if the organization would have too many series.
    """
    ids = _ids(session, organization_id, samples)
    columns: list[list[object]] = [[] for _ in range(5)]
    for identity, one in zip(ids, samples, strict=True):
        for times, values in _pieces(one.times_us, one.values):
            _append(columns, identity, times, values)
    _write(session, organization_id, columns)


def read(session: Session, series: Sequence[int], from_us: int, to_us: int) -> dict[int, tuple[IntArray, FloatArray]]:
    """Times (µs, ascending) and values of each series with samples in [from_us, to_us)."""
    parts: dict[int, list[tuple[bytes, bytes]]] = {}
    with stored.rows(session, series, from_us - ROW_US, to_us, from_us, _AT_ONCE) as found:
        for identity, times, values in found:
            hold(2 * len(times))  # the copies while parts are joined
            parts.setdefault(identity, []).append((times, values))
    result: dict[int, tuple[IntArray, FloatArray]] = {}
    for identity, rows in parts.items():
        times, values = _joined(rows)
        inside = (times >= from_us) & (times < to_us)
        if inside.any():
            result[identity] = times[inside], values[inside]
    return result


def compact(organization_id: int, now_us: int) -> int:
    """Write one row per series and hour for the closed hours of the last day; returns how many rows were written.

    A series with very many samples in an hour stays in short rows, which read the same.
    """
    closed_us = (now_us - ROW_US // 6) // ROW_US * ROW_US
    made = 0
    for hour_us in range(closed_us - 24 * ROW_US, closed_us, ROW_US):
        with borrowed():
            for series in _short(organization_id, hour_us):
                with db.isolated("compact external series", organization=organization_id, hour_us=hour_us), borrowed():
                    made += _join(organization_id, series, hour_us)
    return made


def _short(organization_id: int, hour_us: int) -> list[list[int]]:
    """Series with several rows in an hour, in parts that fit into memory together."""
    parts: list[list[int]] = []
    part_bytes = 0
    with (
        db.organization_session(organization_id) as session,
        stored.in_several_rows(session, hour_us, hour_us + ROW_US, 1000) as found,
    ):
        for identity, size_bytes in found:
            if size_bytes > _PART_BYTES:
                continue
            part_bytes += size_bytes
            if not parts or part_bytes > _PART_BYTES or len(parts[-1]) >= _PART_SERIES:
                parts.append([])
                part_bytes = size_bytes
            parts[-1].append(identity)
    return parts


def _join(organization_id: int, series: Sequence[int], hour_us: int) -> int:
    rows: dict[int, list[tuple[bytes, bytes]]] = {}
    with db.organization_session(organization_id) as session:
        with stored.take(session, series, hour_us, hour_us + ROW_US, _AT_ONCE) as found:
            for identity, times, values in found:
                rows.setdefault(identity, []).append((times, values))
        columns: list[list[object]] = [[] for _ in range(5)]
        for identity, parts in sorted(rows.items()):
            _append(columns, identity, *_joined(parts))
        _write(session, organization_id, columns)
    return len(columns[0])


def _ids(session: Session, organization_id: int, samples: Sequence[Samples]) -> list[int]:
    cache = _caches.of(session.get_bind())
    period = int(time.time()) // SEEN_EVERY_S
    digests = [_digest(one) for one in samples]
    known = [cache.get((organization_id, digest)) for digest in digests]
    missing = {
        digest: one
        for digest, one, before in zip(digests, samples, known, strict=True)
        if before is None or before.resource_id != one.resource_id or before.period != period
    }
    fresh: _Ids = {}
    if missing:
        rows = stored.upsert(
            session,
            organization_id,
            list(missing),
            resources=[one.resource_id for one in missing.values()],
            names=[one.name for one in missing.values()],
            labels=[json.dumps(dict(one.labels)) for one in missing.values()],
            kinds=[one.kind for one in missing.values()],
        )
        if created := sum(row.created for row in rows):
            limits.add_stored(organization_id, "external_series", created, lambda: stored.count(session))
        fresh = {(organization_id, bytes(row.digest)): _Known(row.id, row.resource_id, period) for row in rows}
        after_commit(session, lambda: _remember(cache, fresh))
    return [
        (fresh.get((organization_id, digest)) or before).id  # type: ignore[union-attr]
        for digest, before in zip(digests, known, strict=True)
    ]


def _remember(cache: _Ids, fresh: _Ids) -> None:
    if len(cache) > _MAX_CACHED:
        cache.clear()
    cache.update(fresh)


def _digest(one: Samples) -> bytes:
    key = json.dumps([one.name, sorted(one.labels.items())])
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _pieces(times: IntArray, values: FloatArray) -> list[tuple[IntArray, FloatArray]]:
    """Split at full hours, so that no row covers more than one."""
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    cuts = np.flatnonzero(np.diff(times // ROW_US)) + 1
    return list(zip(np.split(times, cuts), np.split(values, cuts), strict=True))


def _joined(rows: Sequence[tuple[bytes, bytes]]) -> tuple[IntArray, FloatArray]:
    times = np.frombuffer(b"".join(row[0] for row in rows), "<i8").astype(np.int64)
    values = np.frombuffer(b"".join(row[1] for row in rows), "<f8").astype(np.float64)
    order = np.argsort(times, kind="stable")
    times, values = times[order], values[order]
    last = np.ones(len(times), np.bool_)
    last[:-1] = times[1:] != times[:-1]
    return times[last], values[last]


def _append(columns: list[list[object]], identity: int, times: IntArray, values: FloatArray) -> None:
    row = (identity, int(times[0]), int(times[-1]), times.astype("<i8").tobytes(), values.astype("<f8").tobytes())
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _write(session: Session, organization_id: int, columns: list[list[object]]) -> None:
    if columns[0]:
        stored.add(session, organization_id, columns)
