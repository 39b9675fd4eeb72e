"""Rows of batches, as they land in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from jitterscope.series.store.driver import insert

# %b: binary parameters, so that payloads reach the server unchanged.
_BLOCK = (
    "INSERT INTO series_blocks (organization_id, node_id, layout_id, start_us, step_us, tick_count, encoding, payload) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %b)"
)
_HISTOGRAM = (
    "INSERT INTO distributions (organization_id, series_id, start_us, step_us, tick_count, entries, buckets, counts) "
    "VALUES (%s, %s, %s, %s, %s, %b, %b, %b)"
)
_EVENT = (
    "INSERT INTO events (organization_id, resource_id, kind, start_us, duration_us, attributes) "
    "VALUES (%s, %s, %s, %s, %s, %s)"
)
_QUERIES = (
    "INSERT INTO query_blocks (organization_id, server_id, start_us, end_us, complete, offsets_us, latencies_us, "
    "results, name_indices, client_indices, queue_waits_us, names, clients) "
    "VALUES (%s, %s, %s, %s, %s, %b, %b, %b, %b, %b, %b, %s, %s)"
)


def add_blocks(session: Session, rows: Sequence[tuple[object, ...]]) -> None:
    """Rows of (organization, node, layout, start, step, ticks, encoding, payload)."""
    insert(session, _BLOCK, rows)


def add_histograms(session: Session, rows: Sequence[tuple[object, ...]]) -> None:
    """Rows of (organization, series, start, step, ticks, entries, buckets, counts)."""
    insert(session, _HISTOGRAM, rows)


def add_events(session: Session, rows: Sequence[tuple[object, ...]]) -> None:
    """Rows of (organization, resource, kind, start, duration, attributes)."""
    insert(session, _EVENT, rows)


def add_queries(session: Session, rows: Sequence[tuple[object, ...]]) -> None:
    """Rows of (organization, server, start, end, complete) and the columns of the queries."""
    insert(session, _QUERIES, rows)
