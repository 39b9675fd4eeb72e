"""Earlier findings on a node that affect how later ones are judged, as its areas declare them (`Area.history`)."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.area import History
from jitterscope.diagnosis.core.registry import all_areas
from jitterscope.diagnosis.core.snapshot import Event
from jitterscope.incidents.api.views import time_of, us_of
from jitterscope.incidents.store import incidents


def before(session: Session, node_id: int, start_us: int) -> tuple[Event, ...]:
    """Events from a node's incidents before a time, oldest first."""
    declared = [one for area in all_areas().values() for one in area.history]
    events = [event for one in declared for event in _events(session, node_id, start_us, one)]
    return tuple(sorted(events, key=lambda event: event.start_us))


def _events(session: Session, node_id: int, start_us: int, history: History) -> list[Event]:
    rows = incidents.earlier(session, node_id, history.cause, time_of(start_us), history.newest)
    found = [history.event(us_of(row.onset_at), _numbers(row.finding)) for row in rows]
    return [event for event in found if event is not None]


def _numbers(finding: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {item["id"]: item.get("numbers", {}) for item in finding.get("evidence", []) if "id" in item}
