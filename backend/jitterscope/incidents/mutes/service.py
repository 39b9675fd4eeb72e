"""Begins and ends mutes. Each incident changes in its own transaction, so that no two locks are held at once.

If a process exits in between, the next visit does the rest.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.audit import service as audit
from jitterscope.audit.service import Actor
from jitterscope.db import isolated, organization_session
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.lifecycle.transitions import check_room, record_mute
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.mutes import covering, store
from jitterscope.incidents.mutes.matching import longest
from jitterscope.incidents.mutes.models import MuteRow
from jitterscope.incidents.mutes.schemas import MuteCreate, MuteFilter
from jitterscope.inventory import service as inventory
from jitterscope.notify.conditions import Conditions

# Each transition evaluates all of them.
MOST = 200
_LONGEST = timedelta(days=366)
_NO_REASON = "No reason given"


def mute(session: Session, actor: Actor, incident_id: int, until: datetime | None, reason: str | None) -> IncidentRow:
    """Mute notifications of one incident until a time, or until unmuted; replaces its earlier individual mute."""
    _check_until(until)
    row = actions.locked(session, incident_id)
    check_room(session, incident_id)
    _end_own(session, actor, row)
    session.add(
        MuteRow(
            organization_id=row.organization_id,
            incident_id=row.id,
            until=until,
            reason=reason or _NO_REASON,
            created_by=actor.actor,
        )
    )
    session.flush()
    record_mute(session, row, actor=actor, again=True)
    return row


def unmute(session: Session, actor: Actor, incident_id: int) -> IncidentRow:
    """Unmute one incident. Raises Problem 409 if what mutes it also mutes others."""
    row = actions.locked(session, incident_id)
    check_room(session, incident_id)
    if not _end_own(session, actor, row) and row.mute is not None and row.muted:
        raise Problem(
            409, "muted-by-a-rule", "Muted by a rule",
            f"Mute {row.mute['id']} by {row.mute['by']} covers more than this incident: {row.mute['reason']}",
            "End that mute, or wait for its end.",
        )  # fmt: skip
    record_mute(session, row, actor=actor, again=True)
    return row


def _end_own(session: Session, actor: Actor, row: IncidentRow) -> bool:
    own = store.of_incident(session, row.id, datetime.now(UTC))
    for one in own:
        one.ended_at, one.ended_by = datetime.now(UTC), actor.actor
    session.flush()
    return bool(own)


def create(actor: Actor, request: MuteCreate) -> int:
    """Create a mute and apply it; returns its id. Raises Problem 404, 409, 422."""
    _check_until(request.until)
    check_filter(request)
    if request.until is None and request.hours is None and request.incident_id is None:
        raise Problem(422, "no-end", "No end", "Without weekly hours a mute needs an end.", "Give `until`, or `hours`.")
    with organization_session(actor.organization_id) as session:
        if request.incident_id is not None:
            actions.get(session, request.incident_id)
        if request.resource_id is not None and inventory.resource(session, request.resource_id) is None:
            raise not_found("resource", request.resource_id)
        if store.count_asked(session, datetime.now(UTC), request.incident_id) >= MOST:
            raise Problem(
                409, "too-many-mutes", "Too many mutes", f"At most {MOST} mutes can be active or waiting at once.",
                "End one that is not needed.",
            )  # fmt: skip
        row = MuteRow(
            organization_id=actor.organization_id,
            incident_id=request.incident_id,
            resource_id=request.resource_id,
            severities=sorted(set(request.severities)),
            conditions=request.conditions.model_dump(),
            hours=None if request.hours is None else request.hours.model_dump(),
            until=request.until,
            reason=request.reason,
            created_by=actor.actor,
        )
        session.add(row)
        session.flush()
        audit.record(session, actor, "mute.create", f"mute {row.id}", request.model_dump(mode="json"))
        mute_id = row.id
    visit(actor.organization_id, actor, mute_id)
    return mute_id


def end(actor: Actor, mute_id: int) -> None:
    """End a mute now; one that is over stays unchanged. Raises Problem 404."""
    now = datetime.now(UTC)
    with organization_session(actor.organization_id) as session:
        row = session.get(MuteRow, mute_id, with_for_update=True)
        if row is None:
            raise not_found("mute", mute_id)
        if is_over(row, now):
            return
        row.ended_at, row.ended_by = now, actor.actor
        audit.record(session, actor, "mute.end", f"mute {row.id}", {"reason": row.reason})
        session.flush()
        store.forget(session, row.id)
    visit(actor.organization_id, actor, mute_id)


def is_over(row: MuteRow, now: datetime) -> bool:
    return row.ended_at is not None or (row.until is not None and row.until <= now)


def visit(organization_id: int, actor: Actor | None = None, mute_id: int | None = None) -> int:
    """Update what mutes each incident that is not over; returns how many were muted or unmuted.

    `actor` just created or ended the mute `mute_id`. When a timed mute ends by itself, channels are reminded, because
    that is why users set a time. The end of weekly hours is sent only to those who do not know the current state.
    """
    with organization_session(organization_id) as session:
        due = _differing(session)
    changed = 0
    for incident_id in due:
        with isolated("mute", incident=incident_id), organization_session(organization_id) as session:
            row = actions.locked(session, incident_id)
            if row.resolved_at is not None:
                continue
            timed = row.mute is not None and not row.mute["recurs"] and row.mute["id"] != mute_id
            reminds = timed and row.state == "open"
            changed += record_mute(session, row, actor=actor, reminds=reminds, mute_id=mute_id)
    return changed


def _differing(session: Session) -> list[int]:
    """Incidents whose row does not match what currently mutes them."""
    now = datetime.now(UTC)
    mutings = store.mutings(session, now)
    rows = store.not_resolved(session, muted_only=not mutings)
    if not rows:
        return []
    reached = reach_of(session, rows)
    found = []
    for row in rows:
        cover = longest(mutings, covering.candidate_of(row, reached[row.id].places), now)
        said = (row.mute["id"] if row.mute is not None else None, row.muted_until) if row.muted else None
        if said != (None if cover is None else (cover.muting.id, cover.until)):
            found.append(row.id)
    return sorted(found)


def check_filter(asked: MuteFilter) -> None:
    """Raise Problem 422 if it would mute everything without saying so explicitly."""
    given = asked.incident_id, asked.resource_id, asked.severities or None
    if all(one is None for one in given) and asked.conditions == Conditions():
        raise Problem(
            422, "mutes-everything", "Nothing chosen", "This mute would cover every incident.",
            "Set a condition; the resource pattern * matches everything.",
        )  # fmt: skip


def _check_until(until: datetime | None) -> None:
    if until is None:
        return
    if until.tzinfo is None:
        raise Problem(422, "no-time-zone", "Time zone missing", "`until` has no time zone.", "Give the time in UTC.")
    if until <= datetime.now(UTC):
        raise Problem(
            422, "in-the-past", "Time is in the past", "`until` is in the past.", "Give a later time, or omit it."
        )
    if until > datetime.now(UTC) + _LONGEST:
        raise Problem(
            422, "too-long", "Too long", f"A mute can last at most {_LONGEST.days} days.", "Give an earlier time."
        )
