"""Turns landing blocks into long packed segments and rollups, one node and window at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.series import codec, layouts, partitions, rollups
from jitterscope.series.runs import runs
from jitterscope.series.store import blocks as store
from jitterscope.series.types import TICK_US, FloatArray

IdArray = NDArray[np.int64]

WINDOW_US = 600_000_000
# How long a window stays open for stragglers; a later run compacts what arrives after that.
GRACE_US = 30_000_000
# Values decoded at once: limits a worker's memory to several copies of about 8 bytes each.
_CHUNK_VALUES = 2_000_000
# Slices of blocks received together: one is as large as a batch at most.
_ROWS_AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class Part:
    """What one transaction compacts: a node's blocks with one step that start in one window."""

    node_id: int
    step_us: int
    start_us: int


def compact(organization_id: int, now_us: int) -> int:
    """Compact all closed windows of an organization; returns how many. Safe to run concurrently."""
    with db.organization_session(organization_id) as session:
        closed_us = (now_us - GRACE_US) // WINDOW_US * WINDOW_US
        parts = [Part(*one) for one in store.closed_windows(session, WINDOW_US, closed_us)]
    done = 0
    for part in parts:
        partitions.ensure(part.start_us, part.start_us + WINDOW_US)  # for a table that is newer than the data
        # A window that cannot be compacted stays as it landed; later windows do not wait for it.
        with (
            db.isolated("compact window", organization=organization_id, node=part.node_id, start_us=part.start_us),
            db.organization_session(organization_id) as session,
        ):
            done += compact_part(session, organization_id, part)
    return done


def compact_part(session: Session, organization_id: int, part: Part) -> bool:
    """Compact one window in the session's transaction. False if another worker is compacting it."""
    if not store.try_lock(session, part.node_id):
        return False
    span = (part.start_us, part.start_us + WINDOW_US)
    blocks = store.of_window(session, part.node_id, part.step_us, *span)
    if not blocks:
        return False
    _Window(session, organization_id, part, blocks).write()
    # By id: a block that arrives meanwhile stays for the next run.
    store.remove(session, [block[0] for block in blocks], *span)
    return True


class _Window:
    def __init__(
        self, session: Session, organization_id: int, part: Part, blocks: list[tuple[int, int, int, int]]
    ) -> None:
        self._session, self._organization_id, self._part = session, organization_id, part
        ends = [start_us + ticks * part.step_us for _, _, start_us, ticks in blocks]
        self._ticks = (max(ends) - part.start_us) // part.step_us
        self._blocks_of: dict[int, list[int]] = {}
        for identity, layout_id, _, _ in blocks:
            self._blocks_of.setdefault(layout_id, []).append(identity)
        self._layouts = layouts.contents(session, organization_id, list(self._blocks_of))
        self._series = np.unique(np.concatenate(list(self._layouts.values())))

    def write(self) -> None:
        size = max(1, _CHUNK_VALUES // self._ticks)
        for first in range(0, len(self._series), size):
            series = self._series[first : first + size]
            values = self._values(series)
            self._write_segments(series, values)
            if TICK_US <= self._part.step_us <= rollups.SECOND.step_us:
                self._write_rollups(series, values)

    def _values(self, series: IdArray) -> FloatArray:
        """Ticks of the given series over the window, (series, ticks)."""
        part = self._part
        values: FloatArray = np.full((len(series), self._ticks), np.nan)
        for layout_id, content in self._layouts.items():
            positions = np.flatnonzero(np.isin(content, series))
            if not len(positions):
                continue
            low, count = int(positions[0]), int(positions[-1] - positions[0]) + 1
            rows = np.searchsorted(series, content[positions])
            span = (part.start_us, part.start_us + WINDOW_US)
            blocks = self._blocks_of[layout_id]
            with store.slices(self._session, low, count, blocks, *span, at_once=_ROWS_AT_ONCE) as found:
                for start_us, ticks, encoding, payload in found:
                    decoded = codec.decode_wire(encoding, payload, ticks)[positions - low]
                    first = (start_us - part.start_us) // part.step_us
                    target = values[:, first : first + ticks]
                    # A tick missing here may have arrived in another block.
                    target[rows] = np.where(np.isnan(decoded), target[rows], decoded)
        return values

    def _write_segments(self, series: IdArray, values: FloatArray) -> None:
        part = self._part
        columns: list[list[object]] = [[] for _ in range(4)]
        for chosen, first, last in runs(~np.isnan(values)):
            columns[0] += series[chosen].tolist()
            columns[1] += [part.start_us + first * part.step_us] * len(chosen)
            columns[2] += [last - first] * len(chosen)
            columns[3] += codec.encode_segments(values[chosen, first:last])
        if columns[0]:
            store.add_segments(self._session, self._organization_id, part.step_us, columns)

    def _write_rollups(self, series: IdArray, values: FloatArray) -> None:
        second = rollups.roll_ticks(values, rollups.SECOND.step_us // self._part.step_us)
        five = rollups.roll_up(second, rollups.FIVE_SECONDS.step_us // rollups.SECOND.step_us)
        minute = rollups.roll_up(five, rollups.MINUTE.step_us // rollups.FIVE_SECONDS.step_us)
        for level, rollup in ((rollups.SECOND, second), (rollups.FIVE_SECONDS, five), (rollups.MINUTE, minute)):
            rollups.write(self._session, self._organization_id, level, series, self._part.start_us, rollup)
