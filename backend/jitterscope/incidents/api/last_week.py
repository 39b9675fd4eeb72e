"""The incident changes of the last seven days, as rules see them: the input of previews."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.models import IncidentRow, TransitionRow
from jitterscope.incidents.store import incidents as stored
from jitterscope.incidents.store import transitions
from jitterscope.notify.payload import ACTIONS
from jitterscope.notify.rules import Event, state_after

DAYS = 7
# The newest incident changes that are read.
MOST_CHANGES = 5000


@dataclass(frozen=True, slots=True)
class Week:
    """Events, oldest first. If not `complete`, they begin with the oldest of the newest MOST_CHANGES changes.

    Older changes carry the incident's current data only.
    """

    since: datetime
    complete: bool
    events: list[Event]
    incidents: dict[int, IncidentRow]


def load(session: Session) -> Week:
    """Load the week."""
    week_ago = datetime.now(UTC) - timedelta(days=DAYS)
    newest = transitions.newest(session, MOST_CHANGES + 1)
    recent = [row for row in newest if row.at >= week_ago]
    changes, complete = recent[:MOST_CHANGES][::-1], len(recent) <= MOST_CHANGES
    incidents = stored.for_rules(session, {row.incident_id for row in changes})
    since = week_ago if complete or not changes else changes[0].at
    return Week(since, complete, _events(session, changes, incidents), incidents)


def _events(session: Session, changes: list[TransitionRow], incidents: dict[int, IncidentRow]) -> list[Event]:
    reached = {one: reach.places for one, reach in reach_of(session, list(incidents.values())).items()}
    states: dict[int, str] = {}
    events = []
    for change in changes:
        states[change.incident_id] = state = state_after(change.action, states.get(change.incident_id, ""))
        if change.action not in ACTIONS and not change.muted:
            continue
        incident = incidents[change.incident_id]
        events.append(
            Event(
                incident_id=change.incident_id,
                action=change.action,  # type: ignore[arg-type]  # replay() leaves what no rule can ask for
                at=change.at,
                severity=change.severity or incident.severity,  # type: ignore[arg-type]
                cause=change.cause or incident.cause,
                places=reached[change.incident_id],
                state=state,
                muted=bool(change.muted),
            )
        )
    return events
