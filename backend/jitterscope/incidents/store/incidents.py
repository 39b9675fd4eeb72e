"""Incidents in the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import ColumnElement, Row, and_, func, or_, select
from sqlalchemy.orm import Session, load_only

from jitterscope.incidents.models import IncidentRow, lives_on, reached_ids, severity_rank

# "worst": by severity, and the newest first within one.
Order = Literal["newest", "worst"]


def titles(session: Session, ids: Collection[int]) -> dict[int, str]:
    """Titles of the existing incidents by id."""
    rows = session.execute(select(IncidentRow.id, IncidentRow.title).where(IncidentRow.id.in_(ids)))
    return {row.id: row.title for row in rows}


def listed(
    session: Session,
    *,
    states: Sequence[str] = (),
    severities: Sequence[str] = (),
    causes: Sequence[str] = (),
    subject_id: int | None = None,
    text: str | None = None,
    since: datetime | None = None,
    muted: bool | None = None,
    order: Order = "newest",
    after: Sequence[int] | None = None,
    limit: int = 50,
) -> list[IncidentRow]:
    """Incidents that match every given filter; an empty filter matches all.

    `after`: the last one, by its id, before which stands the rank of its severity if the worst come first.
    """
    by_rank = (severity_rank,) if order == "worst" else ()
    query = select(IncidentRow).order_by(*by_rank, IncidentRow.id.desc()).limit(limit)
    for column, values in (
        (IncidentRow.state, states), (IncidentRow.severity, severities), (IncidentRow.cause, causes),
    ):  # fmt: skip
        if values:
            query = query.where(column.in_(values))
    if subject_id is not None:
        also = IncidentRow.also_affected.contains([{"resource_id": subject_id}])
        query = query.where(or_(IncidentRow.subject_id == subject_id, also))
    if text:
        columns = (IncidentRow.title, IncidentRow.subject_name, IncidentRow.subject_key, IncidentRow.subject_node,
                   IncidentRow.cause)  # fmt: skip
        query = query.where(or_(*(column.icontains(text, autoescape=True) for column in columns)))
    if since is not None:
        query = query.where(IncidentRow.last_seen_at >= since)
    if muted is not None:
        query = query.where(muted_now() if muted else ~muted_now())
    if after is not None:
        *rank, last_id = after
        older = IncidentRow.id < last_id
        query = query.where(or_(severity_rank > rank[0], and_(severity_rank == rank[0], older)) if rank else older)
    return list(session.scalars(query))


def muted_now() -> ColumnElement[bool]:
    """muted_now of api/views.py in SQL."""
    return IncidentRow.muted & or_(IncidentRow.muted_until.is_(None), IncidentRow.muted_until > datetime.now(UTC))


def active_on(session: Session, subject_ids: Sequence[int]) -> Sequence[Row[Any]]:
    """Incidents that are not over, newest first, by `subject`: those of these that they are about or have reached."""
    active = IncidentRow.resolved_at.is_(None)
    about = select(lives_on.label("subject"), IncidentRow.id).where(active)
    on = about.union(select(reached_ids, IncidentRow.id).where(active)).subquery()
    return session.execute(
        select(on.c.subject, IncidentRow.id, IncidentRow.title, IncidentRow.severity, IncidentRow.state)
        .join(on, on.c.id == IncidentRow.id)
        .where(on.c.subject.in_(subject_ids))
        .order_by(IncidentRow.id.desc())
    ).all()


def is_active(session: Session, subject_id: int) -> bool:
    """Whether a subject has an incident that is not over, or was reached by one."""
    own = or_(lives_on == subject_id, IncidentRow.also_affected.contains([{"resource_id": subject_id}]))
    return session.scalar(select(IncidentRow.id).where(IncidentRow.resolved_at.is_(None), own).limit(1)) is not None


def active_among(session: Session, subject_ids: Collection[int]) -> set[int]:
    """Those of the subjects for which `is_active` is true."""
    active = IncidentRow.resolved_at.is_(None)
    reached = select(reached_ids.label("subject")).where(active).subquery()
    about = select(lives_on).where(active, lives_on.in_(subject_ids))
    return set(session.scalars(about.union(select(reached.c.subject).where(reached.c.subject.in_(subject_ids)))))


def active_subjects(session: Session) -> set[int]:
    """Subjects that an active incident is about, and those that it reached."""
    active = select(lives_on).where(IncidentRow.resolved_at.is_(None))
    reached = select(reached_ids).where(IncidentRow.resolved_at.is_(None))
    return set(session.scalars(active.union(reached)))


def subjects(session: Session) -> Sequence[int]:
    """Every resource that an incident is or was about, or has reached."""
    return session.scalars(select(IncidentRow.subject_id).union(select(lives_on), select(reached_ids))).all()


def kept(session: Session) -> Sequence[IncidentRow]:
    """Incidents whose data is kept: active and pinned ones."""
    return session.scalars(select(IncidentRow).where(or_(IncidentRow.resolved_at.is_(None), IncidentRow.pinned))).all()


def counts(session: Session) -> Sequence[Row[str, int, int]]:
    """(severity, how many incidents are not over, how many of them are muted)."""
    muted = func.count().filter(muted_now())
    return session.execute(
        select(IncidentRow.severity, func.count(), muted)
        .where(IncidentRow.resolved_at.is_(None))
        .group_by(IncidentRow.severity)
    ).all()


def ended_as_not_known(session: Session, since: datetime, limit: int) -> Sequence[int]:
    """Where the incidents live that ended as not known, the latest first."""
    ended = select(lives_on).where(IncidentRow.state == "not_known", IncidentRow.resolved_at >= since)
    return session.scalars(ended.order_by(IncidentRow.resolved_at.desc()).limit(limit)).all()


def worst(session: Session, limit: int) -> list[IncidentRow]:
    """The worst incidents that are not over; within a severity the newest first, muted ones last."""
    active = select(IncidentRow).where(IncidentRow.resolved_at.is_(None))
    return list(session.scalars(active.order_by(muted_now(), severity_rank, IncidentRow.id.desc()).limit(limit)))


def for_rules(session: Session, ids: Collection[int]) -> dict[int, IncidentRow]:
    """Incidents by id, of which only what notification rules see is loaded."""
    columns = (
        IncidentRow.id, IncidentRow.title, IncidentRow.severity, IncidentRow.cause, IncidentRow.subject_id,
        IncidentRow.subject_kind, IncidentRow.subject_key, IncidentRow.subject_name, IncidentRow.subject_node,
        IncidentRow.successor_id, IncidentRow.state, IncidentRow.resolved_at, IncidentRow.also_affected,
    )  # fmt: skip
    rows = session.scalars(select(IncidentRow).where(IncidentRow.id.in_(ids)).options(load_only(*columns)))
    return {row.id: row for row in rows}


def earlier(session: Session, subject_id: int, cause: str, before: datetime, limit: int) -> Sequence[IncidentRow]:
    """Incidents of a subject with a cause that began before a time, the latest first."""
    return session.scalars(
        select(IncidentRow)
        .where(IncidentRow.subject_id == subject_id, IncidentRow.cause == cause, IncidentRow.onset_at < before)
        .order_by(IncidentRow.onset_at.desc())
        .limit(limit)
    ).all()


def seen_since(
    session: Session, since: datetime, limit: int
) -> Sequence[Row[str, int, int, list[dict[str, Any]], datetime, datetime]]:
    """When and on which resources incidents showed, the newest incidents first."""
    newest = (
        select(
            IncidentRow.cause, IncidentRow.subject_id, lives_on, IncidentRow.also_affected, IncidentRow.onset_at,
            IncidentRow.last_seen_at,
        )
        .where(IncidentRow.last_seen_at >= since)
        .order_by(IncidentRow.id.desc())
        .limit(limit)
    )  # fmt: skip
    return session.execute(newest).all()
