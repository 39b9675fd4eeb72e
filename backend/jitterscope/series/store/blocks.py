"""Ticks in the database: blocks as they landed, and the segments that compaction makes of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.series.store.driver import driver
from jitterscope.series.window import IN_SPAN, Span

_NODES = text(
    "SELECT DISTINCT CASE node_id WHEN 0 THEN id ELSE node_id END FROM resources WHERE id = ANY(:ids)"
).bindparams(bindparam("ids", type_=ARRAY(BIGINT)))
_LAYOUTS = (
    f"SELECT layout_id, max(octet_length(payload)) FROM series_blocks WHERE node_id = ANY(%b) AND {IN_SPAN} "  # noqa: S608
    "GROUP BY layout_id"
)
_FIRST = "SELECT min(start_us) FROM series_blocks WHERE node_id = ANY(%s) AND start_us > %s AND start_us < %s"
# One row per block with the wanted series' values, one after another: only their bytes leave the server. A run is a
# first position in the layout and a count; the runs of the n-th layout are those from begins[n] up to begins[n + 1].
# width_bucket finds n by bisection: a node with many containers has thousands of layouts in a few minutes.
_BLOCKS = (
    "WITH wanted AS MATERIALIZED (SELECT %b::bigint[] AS layouts, %b::integer[] AS begins, "  # noqa: S608
    "%b::integer[] AS firsts, %b::integer[] AS sizes) "
    "SELECT layout_id, start_us, tick_count, encoding, (SELECT string_agg(substring(payload "
    "FROM firsts[run] * tick_count * wire_width(encoding) + 1 FOR sizes[run] * tick_count * wire_width(encoding)), "
    "''::bytea ORDER BY run) FROM generate_series(begins[width_bucket(layout_id, layouts)], "
    "begins[width_bucket(layout_id, layouts) + 1] - 1) AS run) "
    f"FROM series_blocks CROSS JOIN wanted WHERE layout_id = ANY(%b) AND node_id = ANY(%b) AND {IN_SPAN}"
)
_SEGMENTS = (
    "SELECT series_id, start_us, tick_count, payload FROM series_segments "  # noqa: S608
    f"WHERE series_id = ANY(%b) AND {IN_SPAN}"
)


_LOCK_CLASS = 1785296757
_SLICES = (
    "SELECT start_us, tick_count, encoding, substring(payload FROM %b * tick_count * wire_width(encoding) + 1 "
    "FOR %b * tick_count * wire_width(encoding)) FROM series_blocks "
    "WHERE id = ANY(%b) AND start_us >= %b AND start_us < %b"
)
_ADD_SEGMENTS = (
    "INSERT INTO series_segments (organization_id, step_us, series_id, start_us, tick_count, payload) "
    "SELECT %b, %b, one.* FROM unnest(%b::bigint[], %b::bigint[], %b::integer[], %b::bytea[]) AS one"
)


def nodes_of(session: Session, resource_ids: Sequence[int]) -> tuple[int, ...]:
    """The nodes of resources."""
    return tuple(session.execute(_NODES, {"ids": list(resource_ids)}).scalars())


def layouts(session: Session, nodes: Sequence[int], span: Span) -> dict[int, int]:
    """Layouts of blocks of nodes, each with the size of its largest block."""
    with driver(session).cursor(binary=True) as cursor:
        return dict(cursor.execute(_LAYOUTS, (list(nodes), *span)).fetchall())


def first_us(session: Session, nodes: Sequence[int], after_us: int, before_us: int) -> int | None:
    """Start of the earliest block of nodes that starts in (after, before)."""
    with driver(session).cursor() as cursor:
        found = cursor.execute(_FIRST, (list(nodes), after_us, before_us)).fetchone()
    return None if found is None else found[0]


def parts(
    session: Session,
    runs: Mapping[int, Sequence[tuple[int, int]]],
    nodes: Sequence[int],
    span: Span,
    at_once: int,
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(layout, start, ticks, encoding, payload) of blocks, with only the series of the layouts' runs.

    `runs`: of each layout, first positions and sizes.
    """
    layout_ids = sorted(runs)
    begins = list(itertools.accumulate((len(runs[identity]) for identity in layout_ids), initial=1))
    firsts, sizes = ([run[part] for identity in layout_ids for run in runs[identity]] for part in (0, 1))
    wanted = (layout_ids, begins, firsts, sizes, layout_ids, list(nodes), *span)
    return counted.arriving(session, _BLOCKS, wanted, at_once=at_once)


def segments(
    session: Session, series: Sequence[int], span: Span, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(series, start, ticks, payload) of segments."""
    return counted.arriving(session, _SEGMENTS, (list(series), *span), at_once=at_once)


def closed_windows(session: Session, window_us: int, before_us: int) -> list[tuple[int, int, int]]:
    """(node, step, start) of windows that have blocks and ended before a time, the earliest first."""
    found = session.execute(
        text(
            "SELECT DISTINCT node_id, step_us, start_us - start_us % :window AS start_us FROM series_blocks "
            "WHERE start_us < :closed ORDER BY 3, 1, 2"
        ),
        {"window": window_us, "closed": before_us},
    )
    return [(row.node_id, row.step_us, row.start_us) for row in found]


def try_lock(session: Session, node_id: int) -> bool:
    """Become the only one to compact blocks of a node until the end of the transaction; False if another is."""
    locked: bool = session.execute(
        text("SELECT pg_try_advisory_xact_lock(:class, CAST(:node % 2147483647 AS integer))"),
        {"class": _LOCK_CLASS, "node": node_id},
    ).scalar_one()
    return locked


def of_window(
    session: Session, node_id: int, step_us: int, from_us: int, to_us: int
) -> list[tuple[int, int, int, int]]:
    """(block, layout, start, ticks) of a node's blocks that start in [from, to)."""
    with driver(session).cursor(binary=True) as cursor:
        return cursor.execute(
            "SELECT id, layout_id, start_us, tick_count FROM series_blocks "
            "WHERE node_id = %b AND step_us = %b AND start_us >= %b AND start_us < %b",
            (node_id, step_us, from_us, to_us),
        ).fetchall()


def slices(
    session: Session, first: int, count: int, block_ids: Sequence[int], from_us: int, to_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(start, ticks, encoding, payload) of `count` series of each block, from the position `first` on."""
    wanted = (first, count, list(block_ids), from_us, to_us)
    return counted.arriving(session, _SLICES, wanted, at_once=at_once)


def add_segments(session: Session, organization_id: int, step_us: int, columns: Sequence[list[object]]) -> None:
    """`columns`: series, starts, ticks, payloads."""
    with driver(session).cursor(binary=True) as cursor:
        cursor.execute(_ADD_SEGMENTS, (organization_id, step_us, *columns))


def remove(session: Session, block_ids: Sequence[int], from_us: int, to_us: int) -> None:
    """Delete blocks that start in [from, to)."""
    with driver(session).cursor(binary=True) as cursor:
        cursor.execute(
            "DELETE FROM series_blocks WHERE id = ANY(%b) AND start_us >= %b AND start_us < %b",
            (list(block_ids), from_us, to_us),
        )
