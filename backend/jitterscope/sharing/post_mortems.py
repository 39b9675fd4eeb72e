"""Edited post-mortems: one text per incident, which no edit overwrites unseen."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from jitterscope.audit import service as audit
from jitterscope.errors import Problem
from jitterscope.incidents.lifecycle import actions
from jitterscope.sharing.models import PostMortemRow
from jitterscope.sharing.schemas import PostMortem
from jitterscope.tenancy.principal import Principal


def stored(session: Session, incident_id: int) -> PostMortemRow | None:
    """The text that members keep; None if the post-mortem was never edited."""
    return session.get(PostMortemRow, incident_id)


def keep(session: Session, principal: Principal, incident_id: int, content: str, version: int) -> PostMortemRow:
    """Store the text that was based on `version`. Raises Problem 404, and 409 if there is another version by now."""
    row = _of_version(session, incident_id, version)
    if row is None:
        row = PostMortemRow(incident_id=incident_id, organization_id=principal.organization_id, version=0)
        session.add(row)
    elif row.content == content:
        return row
    row.version, row.content = row.version + 1, content
    row.edited_by, row.edited_at = principal.actor, datetime.now(UTC)
    _note(session, principal, incident_id, "edited", row)
    return row


def discard(session: Session, principal: Principal, incident_id: int, version: int) -> None:
    """Delete the text: the post-mortem is written from the data again. Raises Problem as `keep` does."""
    row = _of_version(session, incident_id, version)
    if row is not None:
        _note(session, principal, incident_id, "discarded", row)
        session.delete(row)


def shown(row: PostMortemRow | None) -> PostMortem:
    """The post-mortem as the API shows it."""
    if row is None:
        return PostMortem(version=0, content=None, edited_by=None, edited_at=None)
    return PostMortem(version=row.version, content=row.content, edited_by=row.edited_by, edited_at=row.edited_at)


def _of_version(session: Session, incident_id: int, version: int) -> PostMortemRow | None:
    # Concurrent edits: the second waits and sees what the first did.
    actions.locked(session, incident_id)
    row = session.get(PostMortemRow, incident_id, populate_existing=True)
    if version == (0 if row is None else row.version):
        return row
    now = "was discarded" if row is None else f"was edited by {row.edited_by} at {row.edited_at:%H:%M:%S} UTC"
    raise Problem(
        409, "edited-meanwhile", "Edited by another member", f"The post-mortem {now}, after you opened it.",
        "Read that text, copy what you need into yours, and save it as the next version.",
    )  # fmt: skip


def _note(session: Session, principal: Principal, incident_id: int, what: str, row: PostMortemRow) -> None:
    detail = {"version": row.version, "characters": len(row.content)}
    audit.record(session, principal, f"post_mortem.{what}", f"incident {incident_id}", detail)
