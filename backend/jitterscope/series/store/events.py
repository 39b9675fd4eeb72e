"""Events in the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from sqlalchemy.orm import Session

from jitterscope import counted

_ROWS = """
    SELECT id, resource_id, kind, start_us, duration_us, attributes FROM events
     WHERE resource_id = ANY(%(resources)s::bigint[]) AND start_us > %(earliest)s AND start_us < %(to_us)s
       AND (start_us >= %(from_us)s OR start_us + duration_us > %(from_us)s)
       AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
     ORDER BY start_us, id LIMIT %(most)s::bigint
    """


def rows(
    session: Session,
    resource_ids: Sequence[int],
    earliest_us: int,
    from_us: int,
    to_us: int,
    kinds: Sequence[str] | None,
    most: int | None,
) -> AbstractContextManager[Iterator[counted.Row]]:
    """Events that overlap [from, to), by start; none that began before `earliest_us` lasts that long."""
    wanted = {
        "resources": list(resource_ids), "earliest": earliest_us, "from_us": from_us, "to_us": to_us,
        "kinds": None if kinds is None else list(kinds), "most": most,
    }  # fmt: skip
    return counted.rows(session, _ROWS, wanted)
