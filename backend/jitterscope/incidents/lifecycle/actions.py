"""User actions on incidents. Each change is one transition; repeating an action changes nothing."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from jitterscope.audit.service import Actor
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.store.incidents import titles as titles
from jitterscope.incidents.store.locks import lock_subject
from jitterscope.incidents.store.transitions import history as history


def get(session: Session, incident_id: int) -> IncidentRow:
    """One incident. Raises Problem 404."""
    row = session.get(IncidentRow, incident_id)
    if row is None:
        raise not_found("incident", incident_id)
    return row


def acknowledge(session: Session, principal: Actor, incident_id: int, note: str | None) -> IncidentRow:
    """Record that a user is working on it."""
    row = locked(session, incident_id)
    # A user who applied a fix is already working on it; acknowledging must not end the fix's verification.
    if row.state in ("acknowledged", "fix_applied"):
        return row
    _must_be_active(row, "acknowledged")
    row.state = "acknowledged"
    record(session, row, "acknowledged", note, principal)
    return row


def unacknowledge(session: Session, principal: Actor, incident_id: int) -> IncidentRow:
    """Take back the acknowledgment."""
    row = locked(session, incident_id)
    if row.state != "acknowledged":
        return row
    row.state = "open"
    record(session, row, "unacknowledged", None, principal)
    return row


def resolve(session: Session, principal: Actor, incident_id: int, note: str | None) -> IncidentRow:
    """Close it. The same symptom after this moment reopens it."""
    row = locked(session, incident_id)
    if row.resolved_at is not None:
        return row
    row.state, row.resolved_at = "resolved", max(datetime.now(UTC), row.last_seen_at)
    record(session, row, "resolved", note, principal)
    return row


def pin(session: Session, principal: Actor, incident_id: int, pinned: bool) -> IncidentRow:
    """Keep its data indefinitely, or leave it to retention."""
    row = locked(session, incident_id)
    if row.pinned != pinned:
        row.pinned = pinned
        record(session, row, "pinned" if pinned else "unpinned", None, principal)
    return row


def locked(session: Session, incident_id: int) -> IncidentRow:
    """The current state of the incident, with its subject's lock held."""
    row = get(session, incident_id)
    lock_subject(session, row.lives_on)
    session.refresh(row, with_for_update=True)
    return row


def _must_be_active(row: IncidentRow, verb: str) -> None:
    if row.state == "not_known":
        raise Problem(
            409, "not-known", "Not known any more", f"An incident whose node sends no data cannot be {verb}.",
            "It reopens when data shows the symptom again.",
        )  # fmt: skip
    if row.resolved_at is not None:
        raise Problem(
            409, "already-resolved", "Already resolved", f"A resolved incident cannot be {verb}.",
            "It reopens when the symptom returns.",
        )  # fmt: skip
