"""Incidents: list, read, and user actions on them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from jitterscope.answers import refuses
from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.finding import Severity
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents.api import node_names, queries, views, whole
from jitterscope.incidents.api.schemas import (
    Incident,
    IncidentState,
    IncidentSummary,
    MuteRequest,
    NoteRequest,
    PinRequest,
    Risk,
)
from jitterscope.incidents.lifecycle import actions, notes
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.mutes import service as mutes
from jitterscope.incidents.store import incidents as stored
from jitterscope.kit import cursor as cursors
from jitterscope.kit.declared import audited
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position, position
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

all_causes()  # imported now, so that the first request does not wait
router = APIRouter(tags=["incidents"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]
Writer = Annotated[Principal, Depends(require("incidents:write"))]
Limit = Annotated[int, Query(ge=1, le=200)]
_FULL = "the incident's history has as many entries by users as it can have"
_NOT_YOURS = "Another member, or the service, wrote the note."
Some = Annotated[list[str] | None, Query(max_length=20)]


@router.get("/incidents")
@bounded(QUICK)
def list_incidents(
    principal: Reader,
    state: Annotated[list[IncidentState] | None, Query(max_length=5)] = None,
    severity: Annotated[list[Severity] | None, Query(max_length=3)] = None,
    cause: Some = None,
    subject: int | None = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
    since: datetime | None = None,
    muted: bool | None = None,
    order: stored.Order = "newest",
    limit: Limit = 50,
    cursor: str | None = None,
) -> Page[IncidentSummary]:
    """Incidents, newest first, or the worst first and the newest of a severity first. A filter given more than once
    matches any of its values. `q` searches titles, subjects, nodes, and causes; `since`: seen at or after that time;
    `muted`: only those that are muted now, or that are not."""
    with organization_session(principal.organization_id) as session:
        rows = stored.listed(
            session,
            states=state or (),
            severities=severity or (),
            causes=cause or (),
            subject_id=subject,
            text=q,
            since=since,
            muted=muted,
            order=order,
            after=position(cursor, 2 if order == "worst" else 1),
            limit=limit + 1,
        )
        items = node_names.told_apart(session, [views.summary_of(row) for row in rows[:limit]])
    if len(rows) <= limit:
        return Page(items=items, next_cursor=None)
    return Page(items=items, next_cursor=cursors.encode(*queries.place(items[-1].severity, items[-1].id, order)))


@router.get("/incidents/{incident_id}")
@bounded(QUICK)
def get_incident(principal: Reader, incident_id: int) -> Incident:
    """One incident with its evidence, rivals, fixes, and history."""
    return _change(principal, lambda session: actions.get(session, incident_id))


@router.post("/incidents/{incident_id}/acknowledge", dependencies=[audited("incident.acknowledged")])
@bounded(QUICK)
@refuses(409, f"The incident is over, or {_FULL}.")
def acknowledge_incident(principal: Writer, incident_id: int, request: NoteRequest | None = None) -> Incident:
    """Acknowledge an incident."""
    note = None if request is None else request.note
    return _change(principal, lambda session: actions.acknowledge(session, principal, incident_id, note))


@router.post("/incidents/{incident_id}/unacknowledge", dependencies=[audited("incident.unacknowledged")])
@bounded(QUICK)
@refuses(409, _FULL.capitalize() + ".")
def unacknowledge_incident(principal: Writer, incident_id: int) -> Incident:
    """Remove the acknowledgment of an incident."""
    return _change(principal, lambda session: actions.unacknowledge(session, principal, incident_id))


@router.post("/incidents/{incident_id}/resolve", dependencies=[audited("incident.resolved")])
@bounded(QUICK)
@refuses(409, _FULL.capitalize() + ".")
def resolve_incident(principal: Writer, incident_id: int, request: NoteRequest | None = None) -> Incident:
    """Resolve an incident by hand. New symptoms reopen it."""
    note = None if request is None else request.note
    return _change(principal, lambda session: actions.resolve(session, principal, incident_id, note))


@router.post("/incidents/{incident_id}/mute", dependencies=[audited("incident.muted")])
@bounded(QUICK)
@refuses(409, _FULL.capitalize() + ".")
def mute_incident(principal: Writer, incident_id: int, request: MuteRequest | None = None) -> Incident:
    """Mute only this incident. Replaces an earlier mute of this kind. For rules see /mutes."""
    given = request or MuteRequest()
    return _change(principal, lambda session: mutes.mute(session, principal, incident_id, given.until, given.reason))


@router.post("/incidents/{incident_id}/unmute", dependencies=[audited("incident.unmuted")])
@bounded(QUICK)
@refuses(409, f"A mute that covers more than this incident mutes it, or {_FULL}.")
def unmute_incident(principal: Writer, incident_id: int) -> Incident:
    """End the mutes that cover only this incident, so that notifications are sent again."""
    return _change(principal, lambda session: mutes.unmute(session, principal, incident_id))


@router.post("/incidents/{incident_id}/note", dependencies=[audited("incident.noted")])
@bounded(QUICK)
@refuses(409, _FULL.capitalize() + ".")
def note_incident(principal: Writer, incident_id: int, request: NoteRequest) -> Incident:
    """Add a note to the history of an incident."""
    return _change(principal, lambda session: notes.add(session, principal, incident_id, request.note))


@router.put("/incidents/{incident_id}/notes/{note_id}", dependencies=[audited("incident.note_edited")])
@bounded(QUICK)
@refuses(403, _NOT_YOURS)
def edit_note(principal: Writer, incident_id: int, note_id: int, request: NoteRequest) -> Incident:
    """Edit a note that the caller wrote. The history shows when it was edited; messages already sent do not change."""
    return _change(principal, lambda session: notes.edit(session, principal, incident_id, note_id, request.note))


@router.delete("/incidents/{incident_id}/notes/{note_id}", dependencies=[audited("incident.note_deleted")])
@bounded(QUICK)
@refuses(403, _NOT_YOURS)
def delete_note(principal: Writer, incident_id: int, note_id: int) -> Incident:
    """Delete the text of a note that the caller wrote. The history still shows that there was a note."""
    return _change(principal, lambda session: notes.delete(session, principal, incident_id, note_id))


@router.post("/incidents/{incident_id}/pin", dependencies=[audited("incident.pinned", "incident.unpinned")])
@bounded(QUICK)
@refuses(409, _FULL.capitalize() + ".")
def pin_incident(principal: Writer, incident_id: int, request: PinRequest) -> Incident:
    """Pin an incident, which keeps its data beyond retention, or unpin it."""
    return _change(principal, lambda session: actions.pin(session, principal, incident_id, request.pinned))


@router.get("/risks")
@bounded(QUICK)
def list_risks(
    principal: Reader,
    subject: int | None = None,
    cause: Some = None,
    own: Annotated[bool, Query(description="Those of Jitterscope's own processes, instead of all others")] = False,
    limit: Limit = 50,
    cursor: str | None = None,
) -> Page[Risk]:
    """Findings of the last 24 h without measured harm, newest first. With `subject`, all of it, whatever `own` says."""
    with organization_session(principal.organization_id) as session:
        rows = queries.risks(
            session, subject_id=subject, causes=cause or (), own=own, before_id=one_position(cursor), limit=limit + 1
        )
        items = node_names.told_apart(session, [views.risk_of(row) for row in rows[:limit]])
    return Page(items=items, next_cursor=cursors.encode(items[-1].id) if len(rows) > limit else None)


def _change(principal: Principal, change: Callable[[Session], IncidentRow]) -> Incident:
    with organization_session(principal.organization_id) as session:
        return whole.incident(session, change(session))
