"""Mutes in the database, and the incidents that they could cover."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, false, func, or_, select, update
from sqlalchemy.orm import Session

from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.mutes.matching import Muting
from jitterscope.incidents.mutes.models import MuteRow
from jitterscope.notify.conditions import Conditions
from jitterscope.notify.quiet_hours import WeeklyHours

# Incidents per visit; the next visit takes the rest.
_AT_ONCE = 500


def muting_of(row: MuteRow) -> Muting:
    """The conditions of a row.

    Not validated again: an incident must not fail because of a value that a later version would reject.
    """
    conditions = Conditions.model_construct(**{name: [] for name in Conditions.model_fields} | row.conditions)
    return Muting(
        id=row.id,
        incident_id=row.incident_id,
        resource_id=row.resource_id,
        severities=frozenset(row.severities),
        conditions=conditions,
        hours=None if row.hours is None else WeeklyHours.model_construct(**row.hours),
        until=row.until,
        reason=row.reason,
        by=row.created_by,
    )


def not_over(now: datetime) -> ColumnElement[bool]:
    """Mutes that are in effect, or will be in one of their weekly hours."""
    return MuteRow.ended_at.is_(None) & or_(MuteRow.until.is_(None), MuteRow.until > now)


def mutings(session: Session, now: datetime, incident_id: int | None = None) -> list[Muting]:
    """All mutes that are not over; `incident_id`: without those for other incidents alone."""
    query = select(MuteRow).where(not_over(now)).order_by(MuteRow.id)
    if incident_id is not None:
        query = query.where(or_(MuteRow.incident_id.is_(None), MuteRow.incident_id == incident_id))
    return [muting_of(row) for row in session.scalars(query)]


def count_asked(session: Session, now: datetime, incident_id: int | None) -> int:
    """How many mutes a transition of the incident evaluates; None: of an incident without its own mutes."""
    own = MuteRow.incident_id == incident_id if incident_id is not None else false()
    query = select(func.count()).where(not_over(now), or_(MuteRow.incident_id.is_(None), own)).select_from(MuteRow)
    return session.scalar(query) or 0


def of_incident(session: Session, incident_id: int, now: datetime) -> list[MuteRow]:
    """Mutes for this incident alone that are not over."""
    query = select(MuteRow).where(not_over(now), MuteRow.incident_id == incident_id).order_by(MuteRow.id)
    return list(session.scalars(query.with_for_update()))


def page(
    session: Session, now: datetime, *, ended: bool | None, before_id: int | None, limit: int
) -> Sequence[MuteRow]:
    """A page of mutes, newest first."""
    query = select(MuteRow).order_by(MuteRow.id.desc()).limit(limit)
    if ended is not None:
        query = query.where(~not_over(now) if ended else not_over(now))
    if before_id is not None:
        query = query.where(MuteRow.id < before_id)
    return session.scalars(query).all()


def muted_by(session: Session, mute_ids: Sequence[int]) -> dict[int, list[int]]:
    """Ids of incidents that are not over, by the mute that is in effect for them."""
    query = select(IncidentRow.id, _mute_id()).where(
        IncidentRow.muted, IncidentRow.resolved_at.is_(None), _mute_id().in_(mute_ids)
    )
    found: dict[int, list[int]] = {}
    for incident_id, mute_id in session.execute(query.order_by(IncidentRow.id)):
        found.setdefault(mute_id, []).append(incident_id)
    return found


def not_resolved(session: Session, *, muted_only: bool) -> list[IncidentRow]:
    """Incidents that are not over: muted ones first, then the newest."""
    query = select(IncidentRow).where(IncidentRow.resolved_at.is_(None))
    if muted_only:
        query = query.where(IncidentRow.muted)
    return list(session.scalars(query.order_by(IncidentRow.muted.desc(), IncidentRow.id.desc()).limit(_AT_ONCE)))


def forget(session: Session, mute_id: int) -> None:
    """Clear an ended mute from incidents that are over, so that they no longer show it."""
    session.execute(
        update(IncidentRow)
        .where(IncidentRow.muted, IncidentRow.resolved_at.is_not(None), _mute_id() == mute_id)
        .values(muted=False, muted_until=None, mute=None)
    )


def _mute_id() -> ColumnElement[int]:
    found: ColumnElement[int] = IncidentRow.mute["id"].as_integer()
    return found
