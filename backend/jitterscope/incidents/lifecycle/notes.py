"""Members' notes in an incident's history. The author may change or delete a note; the audit trail keeps both."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from jitterscope.audit import service as audit
from jitterscope.db import after_commit
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.api.live import tell_again
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow, TransitionRow
from jitterscope.tenancy.principal import Principal


def add(session: Session, principal: Principal, incident_id: int, note: str | None) -> IncidentRow:
    """Add a note to the history. Raises Problem 404, 422."""
    words = _words(note)
    row = actions.locked(session, incident_id)
    record(session, row, "noted", words, principal, author_id=principal.person)
    return row


def edit(session: Session, principal: Principal, incident_id: int, note_id: int, note: str | None) -> IncidentRow:
    """Change the text of one's own note. Raises Problem 403, 404, 422."""
    return _change(session, principal, incident_id, note_id, _words(note))


def delete(session: Session, principal: Principal, incident_id: int, note_id: int) -> IncidentRow:
    """Delete the text of one's own note: the history still shows that there was one. Raises Problem 403, 404."""
    return _change(session, principal, incident_id, note_id, None)


def _change(session: Session, principal: Principal, incident_id: int, note_id: int, words: str | None) -> IncidentRow:
    incident = actions.get(session, incident_id)
    note = session.get(TransitionRow, note_id, with_for_update=True)
    if note is None or (note.incident_id, note.action) != (incident.id, "noted") or note.detail is None:
        raise not_found("note", note_id)
    if note.author_id is None or note.author_id != principal.person:
        raise Problem(
            403, "not-yours", "Not your note", f"{note.actor} wrote it, and only the author of a note can change it.",
            "Add a note of your own.",
        )  # fmt: skip
    if note.detail == words:
        return incident
    action = "note_deleted" if words is None else "note_edited"
    detail = {"note": note.id, "from": note.detail, "to": words}
    audit.record(session, principal, f"incident.{action}", f"incident {incident.id}", detail)
    note.detail, note.edited_at = words, datetime.now(UTC)
    after_commit(session, lambda: tell_again(principal.organization_id, incident_id, action))
    return incident


def _words(note: str | None) -> str:
    if not note or not note.strip():
        raise Problem(422, "empty-note", "Note is empty", "A note needs text.", 'Send {"note": "…"}.')
    return note.strip()
