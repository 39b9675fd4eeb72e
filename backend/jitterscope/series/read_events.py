"""Events of a window."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from jitterscope import counted
from jitterscope.series.types import StoredEvent
from jitterscope.series.window import MAX_ROW_US

_ROWS = """
    SELECT id, resource_id, kind, start_us, duration_us, attributes FROM events
     WHERE resource_id = ANY(%(resources)s::bigint[]) AND start_us > %(earliest)s AND start_us < %(to_us)s
       AND (start_us >= %(from_us)s OR start_us + duration_us > %(from_us)s)
       AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))
     ORDER BY start_us, id LIMIT %(most)s::bigint
    """


def read(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int,
    kinds: Sequence[str] | None,
    most: int | None = None,
) -> dict[int, list[StoredEvent]]:
    wanted = {
        "resources": list(resource_ids), "earliest": from_us - MAX_ROW_US, "from_us": from_us, "to_us": to_us,
        "kinds": None if kinds is None else list(kinds), "most": most,
    }  # fmt: skip
    result: dict[int, list[StoredEvent]] = {}
    with counted.rows(session, _ROWS, wanted) as found:
        for row in found:
            event = StoredEvent(*row)
            result.setdefault(event.resource_id, []).append(event)
    return result
