"""Ticks of series, from landing blocks and from compacted segments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.series import codec, layouts
from jitterscope.series.store import blocks as store
from jitterscope.series.types import FloatArray, IntArray
from jitterscope.series.window import Grid, Span, Window

# Unwanted series between two wanted ones that are read with them instead of skipped.
_BRIDGED = 16
# Limits of what is in memory besides the result, because senders choose how often they send a tick: values decoded
# together, and blocks and segments received together. A segment has 500 kB at most.
_MAX_VALUES = 1_000_000
_BYTES_AT_ONCE, _BLOCKS_AT_ONCE, _SEGMENTS_AT_ONCE = 4_000_000, 500, 30


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to read: a session of the organization, and the nodes of the wanted series."""

    session: Session
    organization_id: int
    nodes: tuple[int, ...]


def scope_of(session: Session, resource_ids: Sequence[int]) -> Scope:
    """The scope of series of these resources."""
    return Scope(session, session.info["organization_id"], store.nodes_of(session, resource_ids))


def read(scope: Scope, series: Sequence[int], window: Window, *, landed_only: bool = False) -> dict[int, FloatArray]:
    """The array of each series id with a tick in the window; `landed_only` skips what is already compacted."""
    if not series or not window.ticks:
        return {}
    grid = Grid(window, list(series))
    # Blocks first: compaction moves them to segments in one transaction, so that data moved between the two reads
    # is seen in the second one, and data seen twice is identical.
    _put_blocks(scope, grid, np.array(series, np.int64))
    if not landed_only:
        _put_segments(scope.session, grid, list(series))
    return grid.arrays()


def first_landed_us(scope: Scope, window: Window) -> int | None:
    """Start of the nodes' earliest landing block that may reach into the window."""
    return store.first_us(scope.session, scope.nodes, window.earliest_row_us, window.end_us)


@dataclass(frozen=True, slots=True)
class _Part:
    """What a layout has of the wanted series: their ids, the runs that cover them, and their places in all runs.

    `row_bytes` is the most that one block of the layout has of these runs.
    """

    series: list[int]
    runs: list[tuple[int, int]]
    places: IntArray
    row_bytes: int


def _put_blocks(scope: Scope, grid: Grid, series: IntArray) -> None:
    window = grid.window
    parts = _parts(scope, series, window.rows)
    if not parts:
        return
    runs = {layout_id: part.runs for layout_id, part in parts.items()}
    at_once = _BYTES_AT_ONCE // max(1, *(part.row_bytes for part in parts.values()))
    at_once = min(max(1, at_once), _BLOCKS_AT_ONCE)
    with store.parts(scope.session, runs, scope.nodes, window.rows, at_once) as found:
        for rows in counted.groups(found, lambda row: len(row[4]) // codec.WIDTHS[row[3]], _MAX_VALUES):
            for layout_id, blocks in _decoded(rows, parts).items():
                grid.put(parts[layout_id].series, blocks)


def _parts(scope: Scope, series: IntArray, span: Span) -> dict[int, _Part]:
    used = store.layouts(scope.session, scope.nodes, span)
    ordered = np.sort(series)
    parts: dict[int, _Part] = {}
    for layout_id, content in layouts.contents(scope.session, scope.organization_id, list(used)).items():
        at = np.minimum(np.searchsorted(ordered, content), len(ordered) - 1)
        positions = np.flatnonzero(ordered[at] == content)
        if len(positions):
            found, places = _runs(positions)
            row_bytes = used[layout_id] * sum(size for _, size in found) // len(content)
            parts[layout_id] = _Part(content[positions].tolist(), found, places, row_bytes)
    return parts


def _decoded(rows: Sequence[counted.Row], parts: Mapping[int, _Part]) -> dict[int, list[tuple[int, FloatArray]]]:
    """(start_us, values of the layout's wanted series) of each row, by layout."""
    alike: dict[tuple[int, int, int], list[tuple[int, bytes]]] = defaultdict(list)
    for layout_id, start_us, ticks, encoding, payload in rows:
        alike[layout_id, encoding, ticks].append((start_us, payload))
    blocks: dict[int, list[tuple[int, FloatArray]]] = defaultdict(list)
    for (layout_id, encoding, ticks), same in alike.items():
        values = codec.decode_wire(encoding, b"".join(payload for _, payload in same), ticks)
        every = values.reshape(len(same), -1, ticks)[:, parts[layout_id].places]
        blocks[layout_id] += [(start_us, one) for (start_us, _), one in zip(same, every, strict=True)]
    return blocks


def _runs(positions: IntArray) -> tuple[list[tuple[int, int]], IntArray]:
    """(first, count) of runs that cover the positions, and the index of each position in all runs together.

    A run includes a few unwanted series: the server unpacks the whole block for every run.
    """
    breaks = np.flatnonzero(np.diff(positions) > _BRIDGED) + 1
    firsts = positions[np.concatenate(([0], breaks))]
    sizes = positions[np.concatenate((breaks - 1, [len(positions) - 1]))] - firsts + 1
    before = np.cumsum(sizes) - sizes
    lengths = np.diff(np.concatenate(([0], breaks, [len(positions)])))
    places = positions - np.repeat(firsts - before, lengths)
    return list(zip(firsts.tolist(), sizes.tolist(), strict=True)), places


def _put_segments(session: Session, grid: Grid, series: list[int]) -> None:
    with store.segments(session, series, grid.window.rows, _SEGMENTS_AT_ONCE) as found:
        for rows in counted.groups(found, lambda row: row[2], _MAX_VALUES):
            decoded = codec.decode_segments([row[3] for row in rows], [row[2] for row in rows])
            for (identity, start_us, _, _), values in zip(rows, decoded, strict=True):
                grid.put_long(identity, start_us, values)
