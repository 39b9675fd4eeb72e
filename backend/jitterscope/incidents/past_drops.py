"""What earlier drops of dentries took on a node, from the incidents that they made: how the next one is predicted."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from jitterscope.diagnosis.snapshot import Event
from jitterscope.diagnosis.whatif.dentry_drop import PAST_DROP
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.views import time_of, us_of

_CAUSE = "kernel/dentry_reclaim_contention"
_NEWEST = 5
# Only these are one task that does nothing else; reclaim shares its time with pages.
_ALONE = ("drops", "unmounts")


def before(session: Session, node_id: int, start_us: int) -> tuple[Event, ...]:
    """The newest five drops and unmounts of a node before a time, oldest first; each as long as it took."""
    rows = session.scalars(
        select(IncidentRow)
        .where(IncidentRow.subject_id == node_id, IncidentRow.cause == _CAUSE, IncidentRow.onset_at < time_of(start_us))
        .order_by(IncidentRow.onset_at.desc())
        .limit(_NEWEST)
    ).all()
    return tuple(found for row in reversed(rows) if (found := _drop(us_of(row.onset_at), row.finding)) is not None)


def _drop(at_us: int, finding: dict[str, Any]) -> Event | None:
    numbers = {item.get("id"): item.get("numbers", {}) for item in finding.get("evidence", [])}
    freed, trigger = numbers.get("freed", {}), numbers.get("trigger", {})
    if not freed.get("weight") or not freed.get("duration_us") or not any(trigger.get(name) for name in _ALONE):
        return None
    attributes = {"weight": f"{freed['weight']:.0f}", "negative": f"{freed.get('negative', 0):.0f}"}
    return Event(PAST_DROP, at_us, round(freed["duration_us"]), attributes)
