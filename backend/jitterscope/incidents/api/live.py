"""Incident events for live clients, read back from the history: what a reconnecting client missed."""

from __future__ import annotations

from typing import TypedDict

from jitterscope.db import organization_session
from jitterscope.events.publish import publish
from jitterscope.incidents.models import TransitionRow
from jitterscope.incidents.store import transitions


class Event(TypedDict):
    """A change of an incident, for live clients. `transition_id` is the position to resume from."""

    type: str
    id: int
    action: str
    transition_id: int


def event_of(row: TransitionRow) -> Event:
    """The event of a transition: {"type": "incident", "id", "action", "transition_id"}."""
    return Event(type="incident", id=row.incident_id, action=row.action, transition_id=row.id)


def transitions_since(organization_id: int, transition_id: int, limit: int) -> list[Event]:
    """Events after a transition, oldest first; only the newest `limit` if there are more."""
    with organization_session(organization_id) as session:
        rows = transitions.newest_after(session, organization_id, transition_id, limit)
    return [event_of(row) for row in reversed(rows)]


def tell_again(organization_id: int, incident_id: int, action: str) -> None:
    """Publish that something an incident shows has changed without a new history entry."""
    publish(organization_id, "incident", incident_id, action=action)


def tell(organization_id: int, event: Event) -> None:
    """Publish an event of `event_of`."""
    publish(organization_id, event["type"], event["id"], action=event["action"], transition_id=event["transition_id"])
