"""Rollups in the database. `table` is that of a level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.series.store.driver import driver


def add(session: Session, table: str, organization_id: int, columns: Sequence[list[object]]) -> None:
    """`columns`: series, starts, ticks, and payloads of minima, maxima, sums, and counts."""
    with driver(session).cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} "  # noqa: S608
            "(organization_id, series_id, start_us, tick_count, low, high, total, ticks) "
            "SELECT %b, one.* FROM unnest(%b::bigint[], %b::bigint[], %b::integer[], %b::bytea[], %b::bytea[], "
            "%b::bytea[], %b::bytea[]) AS one",
            (organization_id, *columns),
        )


def rows(
    session: Session, table: str, series: Sequence[int], after_us: int, before_us: int, at_once: int, *, totals: bool
) -> AbstractContextManager[Iterator[counted.Row]]:
    """(series, start, ticks, minima, maxima) of rows that start in (after, before); `totals`: and sums and counts."""
    statement = (
        f"SELECT series_id, start_us, tick_count, low, high{', total, ticks' if totals else ''} "  # noqa: S608
        f"FROM {table} WHERE series_id = ANY(%b) AND start_us > %b AND start_us < %b"
    )
    return counted.arriving(session, statement, (list(series), after_us, before_us), at_once=at_once)


def first_us(session: Session, table: str, series: Sequence[int], after_us: int, before_us: int) -> int | None:
    """Start of the earliest row of any of the series that starts in (after, before)."""
    with driver(session).cursor(binary=True) as cursor:
        found: int | None = cursor.execute(
            f"SELECT min(start_us) FROM {table} "  # noqa: S608
            "WHERE series_id = ANY(%b) AND start_us > %b AND start_us < %b",
            (list(series), after_us, before_us),
        ).fetchall()[0][0]
    return found


def in_several_rows(session: Session, table: str, step_us: int, from_us: int, to_us: int) -> list[tuple[int, int]]:
    """(series, end of its last row) of series with several rows that start in [from, to)."""
    with driver(session).cursor() as cursor:
        return cursor.execute(
            f"SELECT series_id, max(start_us + tick_count * {step_us}::bigint) FROM {table} "  # noqa: S608
            "WHERE start_us >= %s AND start_us < %s GROUP BY series_id HAVING count(*) > 1 ORDER BY series_id",
            (from_us, to_us),
        ).fetchall()


def remove(session: Session, table: str, series: Sequence[int], from_us: int, to_us: int) -> None:
    """Delete rows of series that start in [from, to)."""
    with driver(session).cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {table} WHERE series_id = ANY(%s) AND start_us >= %s AND start_us < %s",  # noqa: S608
            (list(series), from_us, to_us),
        )


def try_lock(session: Session, table: str, organization_id: int, from_us: int) -> bool:
    """Become the only one to merge rows of a span until the end of the transaction; False if another is."""
    with driver(session).cursor() as cursor:
        locked = cursor.execute(
            "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, %s))", (f"merge {table} {organization_id}", from_us)
        ).fetchone()
    return locked == (True,)
