"""Latency histograms of a window."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.kit.allowance import borrowed, hold, in_time
from jitterscope.series.quantiles import BUCKETS
from jitterscope.series.store import distributions as store
from jitterscope.series.types import TICK_US, IntArray, StoredDistribution
from jitterscope.series.window import MAX_ROW_US, Window

# Time span of the histograms held at once.
_PIECE_US = 1_800_000_000
# Rows received together.
_ROWS_AT_ONCE = 50
# Types of its last columns.
_TYPES = ("<u2", "<u2", "<u4")
# Types of the buckets and counts of a whole row.
ROW_TYPES = ("<u2", "<u8")


def extent(session: Session, series: int, window: Window) -> tuple[int, int] | None:
    """The ticks (µs) of a window between which a series has histograms; None if it has none."""
    first_us, last_us = store.extent(session, series, window.earliest_row_us, window.end_us, window.step_us)
    if first_us is None or last_us is None:
        return None
    starts_us = max(first_us - first_us % window.step_us, window.start_us)
    return starts_us, min(last_us + MAX_ROW_US, window.end_us)


def read(session: Session, series: Sequence[int], window: Window) -> dict[int, StoredDistribution]:
    """Histograms of each series id that has any in the window, in order of ticks."""
    found: dict[int, list[tuple[int, bytes, bytes, bytes]]] = defaultdict(list)
    with store.rows(session, series, window.rows, _ROWS_AT_ONCE) as rows:
        for identity, start_us, *columns in rows:
            # Tick, bucket, and count of each entry, and their copies while they are joined.
            hold(24 * len(columns[1]))
            found[identity].append(((start_us - window.start_us) // window.step_us, *columns))
    joined = ((identity, _joined(parts, window.ticks)) for identity, parts in found.items())
    return {identity: stored for identity, stored in joined if len(stored.tick)}


def pieces(session: Session, series: int, from_us: int, to_us: int) -> Iterator[tuple[Window, StoredDistribution]]:
    """The histograms of one series, piece by piece; ticks count from the start of the piece's window."""
    # Only where there are any: a window of years would be read in thousands of empty pieces.
    first_us, end_us = extent(session, series, Window.around(from_us, to_us, TICK_US)) or (to_us, to_us)
    for at_us in range(first_us, end_us, _PIECE_US):
        window = Window.around(at_us, min(at_us + _PIECE_US, end_us), TICK_US)
        with borrowed():
            found = read(session, [series], window).get(series)
            in_time()
            if found is not None:
                yield window, found


def whole(session: Session, series: Sequence[int], from_us: int, to_us: int) -> IntArray:
    """One histogram over all series and all ticks of a window: a count per bucket."""
    window = Window.around(from_us, to_us, TICK_US)
    edges = np.array([window.start_us, window.end_us])
    counts = np.zeros(BUCKETS)
    with store.summed(session, series, window.rows, window.start_us, window.end_us, _ROWS_AT_ONCE) as rows:
        for start_us, entries, *columns in rows:
            with borrowed():
                hold(3 * sum(map(len, columns)))  # buckets and counts are widened for adding
                if entries is None:
                    bucket, count = (np.frombuffer(part, kind) for part, kind in zip(columns, ROW_TYPES, strict=True))
                else:
                    bucket, count = _inside((edges - start_us) // TICK_US, entries, *columns)
                counts += np.bincount(bucket, count, BUCKETS)
    return counts.astype(np.int64)


def _inside(ticks: IntArray, *columns: bytes) -> tuple[IntArray, IntArray]:
    """Buckets and counts of a row's ticks in [first, last)."""
    entries, bucket, count = (np.frombuffer(part, kind) for part, kind in zip(columns, _TYPES, strict=True))
    # Entries are ordered by tick: those of the window are contiguous.
    ends = np.concatenate(([0], np.cumsum(entries, dtype=np.int64)))
    first, last = np.clip(ticks, 0, len(entries))
    part = slice(ends[first], ends[last])
    return bucket[part], count[part]


def _joined(parts: Sequence[tuple[int, bytes, bytes, bytes]], ticks: int) -> StoredDistribution:
    """From rows (first tick, entries of each tick, their buckets, their counts), the entries in the first `ticks`."""
    firsts, entries, buckets, counts = zip(*parts, strict=True)
    lengths = np.array([len(one) // 2 for one in entries])
    place = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    tick = np.repeat(np.repeat(firsts, lengths) + place, np.frombuffer(b"".join(entries), "<u2"))
    bucket = np.frombuffer(b"".join(buckets), "<u2").astype(np.int64)
    count = np.frombuffer(b"".join(counts), "<u4").astype(np.int64)
    inside = (tick >= 0) & (tick < ticks)
    return StoredDistribution(tick[inside], bucket[inside], count[inside])
