"""Records a transition in one transaction: history, audit trail, outbox, and, once committed, the live event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from jitterscope.audit import service as audit
from jitterscope.audit.service import Actor
from jitterscope.db import after_commit
from jitterscope.errors import Problem
from jitterscope.incidents.api.live import event_of, tell
from jitterscope.incidents.api.views import payload_of
from jitterscope.incidents.coincidence import before_onset
from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.models import IncidentRow, TransitionRow
from jitterscope.incidents.mutes import covering
from jitterscope.incidents.store import transitions as store
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.notify import outbox
from jitterscope.notify.payload import ACTIONS, SHOWN

_SERVICE = "jitterscope"
_SHOWN_IN_AUDIT = ("state", "resolved_at", "muted", "muted_until", "pinned")


@dataclass(frozen=True, slots=True)
class _News:
    """What happened, and by whom.

    `author_id`: who may edit the text; `reminds`: also sent to those who already know the state.
    """

    action: str
    detail: str | None = None
    actor: Actor | None = None
    verification: VerificationRow | None = None
    author_id: int | None = None
    reminds: bool = False


# Entries of one incident by users. The last ones are not for notes, so that it can still be resolved.
MOST_BY_USERS, MOST_NOTES = 1000, 500


def check_room(session: Session, incident_id: int, most: int = MOST_BY_USERS) -> None:
    """Raise Problem 409 if users have made that many entries in the incident's history: each answer has all of them."""
    if store.count_without(session, incident_id, _SERVICE, most) >= most:
        raise Problem(
            409, "history-full", "History is full", f"Users have made {most} entries in the history of this incident.",
            "Write the rest into its post-mortem.",
        )  # fmt: skip


# At these transitions users ask what was changed.
_BEGIN = ("opened", "reopened")


def record(
    session: Session,
    row: IncidentRow,
    action: str,
    detail: str | None = None,
    principal: Actor | None = None,
    verification: VerificationRow | None = None,
    author_id: int | None = None,
) -> TransitionRow:
    """Record what just happened to `row`, which already shows it. `principal` is None for the service itself.

    `verification` goes into notifications if the transition is about one. Raises Problem 409 if users have added as
    much to the history as they can. The mutes of the incident are evaluated again
    here: a mute that is in effect keeps this quiet, whether or not its beginning has been noticed yet.
    """
    changed = audit.changes_of(row, _SHOWN_IN_AUDIT)  # before a query flushes them
    if principal is not None:
        check_room(session, row.id, MOST_NOTES if action == "noted" else MOST_BY_USERS)
    was_muted = row.muted
    cover = covering.cover_of(session, row)
    covering.put(row, cover)
    transition = _write(session, row, _News(action, detail, principal, verification, author_id), changed)
    if row.resolved_at is None and cover is not None and not was_muted:
        _write(session, row, _News("muted", covering.in_words(cover)))
    elif row.resolved_at is None and cover is None and was_muted:
        _write(session, row, _News("unmuted", "No mute covers it any longer."))
    return transition


def record_mute(
    session: Session,
    row: IncidentRow,
    *,
    actor: Actor | None = None,
    mute_id: int | None = None,
    reminds: bool = False,
    again: bool = False,
) -> bool:
    """Evaluate what mutes an incident now, and record a beginning or end; returns whether there was one.

    `actor` caused it if it is about the mute `mute_id`, or if none is given. `again`: also if a different mute is in
    effect than before. `reminds`: channels are told of the end whatever they know.
    """
    before, was_muted = row.mute, row.muted
    cover = covering.cover_of(session, row)
    covering.put(row, cover)
    if mute_id is not None and mute_id not in {one["id"] for one in (before, row.mute) if one is not None}:
        actor = None
    if cover is not None and (not was_muted or (again and before != row.mute)):
        _write(session, row, _News("muted", covering.in_words(cover, by=actor is None), actor))
    elif cover is None and was_muted:
        _write(session, row, _News("unmuted", None if before is None else _ended(before), actor, reminds=reminds))
    return was_muted != row.muted


def _ended(mute: dict[str, Any]) -> str:
    return f"It was muted by {mute['by']}: {mute['reason']}"


def _write(
    session: Session, row: IncidentRow, news: _News, changed: dict[str, dict[str, Any]] | None = None
) -> TransitionRow:
    facts = {"cause": row.cause, "detail": news.detail, **(changed or {}), **audit.changes_of(row, _SHOWN_IN_AUDIT)}
    transition = TransitionRow(
        organization_id=row.organization_id,
        incident_id=row.id,
        actor=_SERVICE if news.actor is None else news.actor.actor,
        action=news.action,
        detail=news.detail,
        author_id=news.author_id,
        severity=row.severity,
        cause=row.cause,
        muted=row.muted,
    )
    session.add(transition)
    session.flush()
    session.refresh(transition)
    name, target = f"incident.{news.action}", f"incident {row.id}"
    if news.actor is None:
        audit.record_system(session, name, target, facts)
    else:
        audit.record(session, news.actor, name, target, facts)
    if row.muted:
        outbox.withdraw(session, row.id)
    if news.action in SHOWN:
        reach = reach_of(session, [row])[row.id]
        besides = before_onset(session, row) if news.action in _BEGIN else ()
        payload = payload_of(row, transition, reach.subject, news.verification, besides)
        outbox.show(session, payload)
        # The end of a mute is not sent for an incident that is already over.
        if news.action in ACTIONS and not (news.action == "unmuted" and row.resolved_at is not None):
            outbox.enqueue(session, payload, reach.others, muted=row.muted, reminds=news.reminds)
    event, organization_id = event_of(transition), row.organization_id
    after_commit(session, lambda: tell(organization_id, event))
    return transition
