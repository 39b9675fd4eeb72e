"""Events of a window."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from jitterscope.series.store import events as store
from jitterscope.series.types import StoredEvent
from jitterscope.series.window import MAX_ROW_US


def read(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int,
    kinds: Sequence[str] | None,
    most: int | None = None,
) -> dict[int, list[StoredEvent]]:
    result: dict[int, list[StoredEvent]] = {}
    with store.rows(session, resource_ids, from_us - MAX_ROW_US, from_us, to_us, kinds, most) as found:
        for row in found:
            event = StoredEvent(*row)
            result.setdefault(event.resource_id, []).append(event)
    return result
