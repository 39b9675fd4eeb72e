"""Merges the short rows of latency histograms into one row per series and window, which also has their sum."""

from __future__ import annotations

from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.kit.allowance import borrowed
from jitterscope.series.compaction import GRACE_US, WINDOW_US
from jitterscope.series.read_distributions import ROW_TYPES
from jitterscope.series.store import distributions as store
from jitterscope.series.types import IntArray

# How far back a run looks for windows. Short rows read the same, more slowly.
_LOOK_BACK_US = 6 * 3_600_000_000
_SERIES_AT_ONCE, _ROWS_AT_ONCE = 500, 50
# More than any bucket number (limits.MAX_BUCKET of ingest).
_BUCKETS = 2048


def compact(organization_id: int, now_us: int, back_us: int = _LOOK_BACK_US) -> int:
    """Merge rows in the closed windows that began in the last `back_us`; returns how many rows were written."""
    closed_us = (now_us - GRACE_US) // WINDOW_US * WINDOW_US
    windows: dict[tuple[int, int], list[int]] = {}
    with db.organization_session(organization_id) as session:
        found = store.in_several_rows(session, WINDOW_US, closed_us - back_us, closed_us)
    for start_us, step_us, series_id in found:
        windows.setdefault((start_us, step_us), []).append(series_id)
    made = 0
    for (start_us, step_us), series in windows.items():
        for at in range(0, len(series), _SERIES_AT_ONCE):
            # Too much to join stays in short rows; what comes later does not wait for it.
            with (
                db.isolated("compact distributions", organization=organization_id, start_us=start_us),
                borrowed(),
                db.organization_session(organization_id) as session,
            ):
                made += _join(session, organization_id, series[at : at + _SERIES_AT_ONCE], step_us, start_us)
    return made


def _join(session: Session, organization_id: int, series: list[int], step_us: int, start_us: int) -> int:
    taken: dict[int, list[tuple[Any, ...]]] = {}
    with store.take(session, series, step_us, start_us, start_us + WINDOW_US, _ROWS_AT_ONCE) as found:
        for row in found:
            taken.setdefault(row[0], []).append(row[1:])
    columns: list[list[object]] = [[] for _ in range(8)]
    for identity, rows in sorted(taken.items()):
        for column, value in zip(columns, (identity, *_joined(rows, step_us)), strict=True):
            column.append(value)
    if columns[0]:
        store.put(session, organization_id, step_us, columns)
    return len(columns[0])


def _joined(rows: list[tuple[Any, ...]], step_us: int) -> tuple[int, int, bytes, bytes, bytes, bytes, bytes]:
    """(start, ticks, entries, buckets, counts, buckets of all ticks together, their counts) of one row.

    From rows (start, ticks, entries, buckets, counts), which may overlap.
    """
    start_us = min(row[0] for row in rows)
    ticks = max((row[0] - start_us) // step_us + row[1] for row in rows)
    keys: list[IntArray] = []
    for row_start, row_ticks, entries, buckets, _ in rows:
        first = (row_start - start_us) // step_us
        tick = np.repeat(np.arange(first, first + row_ticks), np.frombuffer(entries, "<u2"))
        keys.append(tick * _BUCKETS + np.frombuffer(buckets, "<u2"))
    weights = np.concatenate([np.frombuffer(row[4], "<u4") for row in rows]).astype(np.float64)
    key, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    counts = np.bincount(inverse, weights, len(key)).clip(max=2**32 - 1)
    entries = np.bincount(key // _BUCKETS, minlength=ticks)
    whole = np.bincount(key % _BUCKETS, counts)
    seen = np.flatnonzero(whole)
    return (
        start_us,
        ticks,
        entries.astype("<u2").tobytes(),
        (key % _BUCKETS).astype("<u2").tobytes(),
        counts.astype("<u4").tobytes(),
        seen.astype(ROW_TYPES[0]).tobytes(),
        whole[seen].astype(ROW_TYPES[1]).tobytes(),
    )
