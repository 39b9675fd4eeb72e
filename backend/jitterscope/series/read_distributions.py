"""Latency histograms of a window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.series.landing import driver
from jitterscope.series.types import IntArray, StoredDistribution
from jitterscope.series.window import Window

_ROWS = (
    "SELECT series_id, start_us, entries, buckets, counts FROM distributions "
    "WHERE series_id = ANY(%b) AND start_us > %b AND start_us < %b AND step_us = %b ORDER BY start_us"
)


def read(session: Session, series: Sequence[int], window: Window) -> dict[int, StoredDistribution]:
    """Histograms of each series id that has any in the window, in order of ticks."""
    parts: dict[int, list[tuple[IntArray, IntArray, IntArray]]] = defaultdict(list)
    with driver(session).cursor(binary=True) as cursor:
        rows = cursor.execute(_ROWS, (list(series), window.earliest_row_us, window.end_us, window.step_us))
        for identity, start_us, entries, buckets, counts in rows:
            per_tick = np.frombuffer(entries, "<u2").astype(np.int64)
            first = (start_us - window.start_us) // window.step_us
            tick = np.repeat(np.arange(first, first + len(per_tick)), per_tick)
            inside = (tick >= 0) & (tick < window.ticks)
            if inside.any():
                bucket = np.frombuffer(buckets, "<u2").astype(np.int64)
                count = np.frombuffer(counts, "<u4").astype(np.int64)
                parts[identity].append((tick[inside], bucket[inside], count[inside]))
    return {
        identity: StoredDistribution(*(np.concatenate(column) for column in zip(*columns, strict=True)))
        for identity, columns in parts.items()
    }
