"""Incidents of one subject, which the life of an incident depends on, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from jitterscope.incidents.models import IncidentRow, lives_on


def relevant(session: Session, subject_id: int, *, lock: bool = True) -> Sequence[IncidentRow]:
    """Active incidents of the subject, and those of the last day that could reopen."""
    newest = select(func.max(IncidentRow.last_seen_at)).where(lives_on == subject_id).scalar_subquery()
    query = (
        select(IncidentRow)
        .where(
            lives_on == subject_id,
            or_(IncidentRow.resolved_at.is_(None), IncidentRow.resolved_at >= newest - timedelta(days=2)),
        )
        .order_by(IncidentRow.id)
    )
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    return session.scalars(query).all()


def active(session: Session, subject_id: int) -> Sequence[IncidentRow]:
    return session.scalars(select(IncidentRow).where(lives_on == subject_id, IncidentRow.resolved_at.is_(None))).all()


def active_without_data(session: Session, subject_id: int, least: timedelta) -> Sequence[IncidentRow]:
    """Active incidents that nothing showed for `least` by the database's clock, locked."""
    query = select(IncidentRow).where(
        lives_on == subject_id,
        IncidentRow.resolved_at.is_(None),
        IncidentRow.last_seen_at < func.now() - least,
    )
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).all()


def moved_on(session: Session, subject_ids: Sequence[int], cause: str, since: datetime) -> bool:
    """Whether an incident about one of these, which now follows another subject, was seen since a time."""
    told = select(IncidentRow.id).where(
        IncidentRow.subject_id.in_(subject_ids),
        IncidentRow.successor_id.is_not(None),
        IncidentRow.cause == cause,
        IncidentRow.last_seen_at >= since,
    )
    return session.scalar(told.limit(1)) is not None


def active_of_cause(session: Session, subject_id: int, cause: str, without_id: int) -> Sequence[IncidentRow]:
    """Active incidents about a subject with a cause, without one of them."""
    same = select(IncidentRow).where(
        IncidentRow.subject_id == subject_id, IncidentRow.cause == cause, IncidentRow.resolved_at.is_(None)
    )
    return session.scalars(same.where(IncidentRow.id != without_id)).all()


def active_alike(session: Session, subject_id: int, cause: str) -> int | None:
    """An active incident with the same cause on a subject."""
    return session.scalars(
        select(IncidentRow.id).where(
            lives_on == subject_id, IncidentRow.cause == cause, IncidentRow.resolved_at.is_(None)
        )
    ).first()
