"""Histories of incidents in the database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from jitterscope.incidents.models import TransitionRow


def history(session: Session, incident_id: int) -> list[TransitionRow]:
    """The incident's transitions, oldest first."""
    query = select(TransitionRow).where(TransitionRow.incident_id == incident_id).order_by(TransitionRow.id)
    return list(session.scalars(query))


def newest(session: Session, limit: int) -> Sequence[TransitionRow]:
    """Transitions of all incidents, newest first."""
    return session.scalars(select(TransitionRow).order_by(TransitionRow.id.desc()).limit(limit)).all()


def newest_after(session: Session, organization_id: int, transition_id: int, limit: int) -> Sequence[TransitionRow]:
    """Transitions of all incidents after one of them, newest first."""
    return session.scalars(
        select(TransitionRow)
        .where(TransitionRow.organization_id == organization_id, TransitionRow.id > transition_id)
        .order_by(TransitionRow.id.desc())
        .limit(limit)
    ).all()


def count_without(session: Session, incident_id: int, actor: str, most: int) -> int:
    """How many transitions of an incident others than `actor` made, counted up to `most`."""
    by_others = select(TransitionRow.id).where(TransitionRow.incident_id == incident_id, TransitionRow.actor != actor)
    return session.scalar(select(func.count()).select_from(by_others.limit(most).subquery())) or 0
