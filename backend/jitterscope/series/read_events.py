"""Events of a window."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT, TEXT
from sqlalchemy.orm import Session

from jitterscope.kit import allowance
from jitterscope.series.types import StoredEvent
from jitterscope.series.window import MAX_ROW_US

# Memory per event, with a few attributes.
_EVENT_BYTES = 1000
_ROWS = text(
    """
    SELECT id, resource_id, kind, start_us, duration_us, attributes FROM events
     WHERE resource_id = ANY(:resources) AND start_us > :earliest AND start_us < :to_us
       AND (start_us >= :from_us OR start_us + duration_us > :from_us)
       AND (CAST(:kinds AS text[]) IS NULL OR kind = ANY(:kinds))
     ORDER BY start_us, id LIMIT :most
    """
).bindparams(bindparam("resources", type_=ARRAY(BIGINT)), bindparam("kinds", type_=ARRAY(TEXT)))


def read(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int,
    kinds: Sequence[str] | None,
    most: int | None = None,
) -> dict[int, list[StoredEvent]]:
    room = allowance.room(_EVENT_BYTES)
    limit = min((one for one in (room, most) if one is not None), default=None)
    rows = session.execute(
        _ROWS,
        {
            "resources": list(resource_ids), "earliest": from_us - MAX_ROW_US, "from_us": from_us, "to_us": to_us,
            "kinds": None if kinds is None else list(kinds),
            "most": limit,
        },
    ).all()  # fmt: skip
    allowance.hold(len(rows) * _EVENT_BYTES)
    result: dict[int, list[StoredEvent]] = {}
    for row in rows:
        event = StoredEvent(row.id, row.resource_id, row.kind, row.start_us, row.duration_us, row.attributes)
        result.setdefault(row.resource_id, []).append(event)
    return result
