"""Single queries in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from jitterscope import counted

_ROWS = (
    "SELECT server_id, start_us, end_us, complete, offsets_us, latencies_us, results, name_indices, client_indices, "
    "queue_waits_us, names, clients FROM query_blocks "
    "WHERE server_id = ANY(%b::bigint[]) AND start_us > %b AND start_us < %b AND end_us >= %b ORDER BY start_us"
)
_TIMES = (
    "SELECT server_id, start_us, end_us, complete, offsets_us, latencies_us, results, queue_waits_us FROM query_blocks "
    "WHERE server_id = ANY(%b::bigint[]) AND start_us > %b AND start_us < %b AND end_us >= %b ORDER BY start_us"
)


def rows(
    session: Session, server_ids: Sequence[int], after_us: int, from_us: int, to_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """Captures that overlap [from, to) and start after `after_us`, by start, with all columns."""
    return counted.rows(session, _ROWS, (list(server_ids), after_us, to_us, from_us), at_once=at_once)


def times(
    session: Session, server_ids: Sequence[int], after_us: int, from_us: int, to_us: int, at_once: int
) -> AbstractContextManager[Iterator[counted.Row]]:
    """As `rows`, without names and clients."""
    return counted.rows(session, _TIMES, (list(server_ids), after_us, to_us, from_us), at_once=at_once)
