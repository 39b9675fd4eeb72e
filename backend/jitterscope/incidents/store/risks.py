"""Risks in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import BigInteger, cast, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope.incidents.models import RiskRow
from jitterscope.kit.instant import time_of


def touch(session: Session, subject_id: int, cause: str, seen_us: int, shown_us: int) -> bool:
    """Record that a risk was seen; False if there is none, or its displayed data is older than `shown_us`."""
    displayed_us = cast(RiskRow.finding["last_us"].astext, BigInteger)
    fresh = update(RiskRow).where(RiskRow.subject_id == subject_id, RiskRow.cause == cause, displayed_us > shown_us)
    seen = func.greatest(RiskRow.last_seen_at, time_of(seen_us))
    return session.scalar(fresh.values(last_seen_at=seen).returning(RiskRow.id)) is not None


def put(session: Session, values: Mapping[str, object]) -> None:
    """Store a risk; one that is known keeps the time since when it exists."""
    statement = insert(RiskRow).values(dict(values))
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["organization_id", "subject_id", "cause"],
            set_={
                "first_seen_at": func.least(RiskRow.first_seen_at, statement.excluded.first_seen_at),
                "last_seen_at": func.greatest(RiskRow.last_seen_at, statement.excluded.last_seen_at),
                "finding": statement.excluded.finding,
                "subject_name": statement.excluded.subject_name,
            },
        )
    )


def remove(session: Session, subject_id: int, cause: str) -> None:
    session.execute(delete(RiskRow).where(RiskRow.subject_id == subject_id, RiskRow.cause == cause))


def subjects(session: Session, since: datetime) -> Sequence[int]:
    """Subjects of risks seen since a time."""
    return session.scalars(select(RiskRow.subject_id).where(RiskRow.last_seen_at >= since).distinct()).all()


def listed(
    session: Session,
    since: datetime,
    *,
    among: Collection[int] | None,
    outside: Collection[int] | None,
    causes: Sequence[str],
    before_id: int | None,
    limit: int,
) -> list[RiskRow]:
    """Risks seen since a time, newest first: those of some subjects, or of all others."""
    query = select(RiskRow).where(RiskRow.last_seen_at >= since)
    if among is not None:
        query = query.where(RiskRow.subject_id.in_(among))
    if outside is not None:
        query = query.where(RiskRow.subject_id.not_in(outside))
    if causes:
        query = query.where(RiskRow.cause.in_(causes))
    if before_id is not None:
        query = query.where(RiskRow.id < before_id)
    return list(session.scalars(query.order_by(RiskRow.id.desc()).limit(limit)))
