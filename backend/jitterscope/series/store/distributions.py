"""Histograms in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.series.store.driver import driver
from jitterscope.series.window import IN_SPAN, Span

_ROWS = (
    "SELECT series_id, start_us, entries, buckets, counts FROM distributions "  # noqa: S608
    f"WHERE series_id = ANY(%b) AND {IN_SPAN} ORDER BY start_us"
)
# Of rows inside the window that have it, only the histogram of the whole row: their columns by tick stay unread.
_SUMMED = (
    "SELECT start_us, CASE WHEN NOT summed THEN entries END, CASE WHEN summed THEN row_buckets ELSE buckets END, "  # noqa: S608
    "CASE WHEN summed THEN row_counts ELSE counts END FROM (SELECT *, row_counts IS NOT NULL AND start_us >= %b AND "
    "start_us + tick_count::bigint * step_us <= %b AS summed FROM distributions "
    f"WHERE series_id = ANY(%b) AND {IN_SPAN}) AS found"
)
_EXTENT = (
    "SELECT min(start_us), max(start_us) FROM distributions "
    "WHERE series_id = %b AND start_us > %b AND start_us < %b AND step_us = %b"
)


_FIND = (
    "SELECT start_us - start_us %% %s, step_us, series_id FROM distributions WHERE start_us >= %s AND start_us < %s "
    "GROUP BY 1, 2, 3 HAVING count(*) > 1 ORDER BY 1, 2, 3"
)
# One statement reads and deletes: a row that arrives meanwhile is not touched.
_TAKE = (
    "DELETE FROM distributions WHERE series_id = ANY(%b) AND step_us = %b AND start_us >= %b AND start_us < %b "
    "RETURNING series_id, start_us, tick_count, entries, buckets, counts"
)
_PUT = (
    "INSERT INTO distributions (organization_id, step_us, series_id, start_us, tick_count, entries, buckets, counts, "
    "row_buckets, row_counts) SELECT %b, %b, one.* FROM unnest(%b::bigint[], %b::bigint[], %b::integer[], %b::bytea[], "
    "%b::bytea[], %b::bytea[], %b::bytea[], %b::bytea[]) AS one"
)


def rows(
    session: Session, series: Sequence[int], span: Span, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(series, start, entries, buckets, counts) of rows."""
    return counted.arriving(session, _ROWS, (list(series), *span), at_once=at_once)


def summed(
    session: Session, series: Sequence[int], span: Span, from_us: int, to_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(start, entries, buckets, counts) of rows. Without entries: one histogram of a row inside [from, to)."""
    return counted.arriving(session, _SUMMED, (from_us, to_us, list(series), *span), at_once=at_once)


def extent(session: Session, series: int, after_us: int, before_us: int, step_us: int) -> tuple[int | None, int | None]:
    """The earliest and the latest start of a series' rows that start in (after, before); None: there are none."""
    with driver(session).cursor(binary=True) as cursor:
        found = cursor.execute(_EXTENT, (series, after_us, before_us, step_us)).fetchone()
    return (None, None) if found is None else (found[0], found[1])


def in_several_rows(session: Session, window_us: int, from_us: int, to_us: int) -> list[tuple[int, int, int]]:
    """(window, step, series) of series with several rows in a window, of those that start in [from, to)."""
    with driver(session).cursor() as cursor:
        return cursor.execute(_FIND, (window_us, from_us, to_us)).fetchall()


def take(
    session: Session, series: Sequence[int], step_us: int, from_us: int, to_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """Delete rows that start in [from, to): (series, start, ticks, entries, buckets, counts)."""
    return counted.rows(session, _TAKE, (list(series), step_us, from_us, to_us), at_once=at_once)


def put(session: Session, organization_id: int, step_us: int, columns: Sequence[list[object]]) -> None:
    """`columns`: series, starts, ticks, entries, buckets, counts, and the buckets and counts of all ticks together."""
    with driver(session).cursor(binary=True) as cursor:
        cursor.execute(_PUT, (organization_id, step_us, *columns))
