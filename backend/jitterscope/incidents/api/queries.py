"""Lists of incidents and risks, one page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from sqlalchemy import ColumnElement, and_, case, or_, select
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import Severity
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.incidents.models import IncidentRow, RiskRow, lives_on, reached_ids
from jitterscope.inventory import service as inventory

# A risk not seen for this long is no longer listed.
RISK_TTL = timedelta(hours=24)
# The worst first.
SEVERITIES: tuple[Severity, ...] = tuple(sorted(get_args(Severity), key=("critical", "warning", "info").index))
severity_rank = case({name: rank for rank, name in enumerate(SEVERITIES)}, value=IncidentRow.severity)
# "worst": by severity, and the newest first within one.
Order = Literal["newest", "worst"]


def incidents(
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
    """Incidents that match every given filter; an empty filter matches all. `after`: the `place` of the last one."""
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


def place(severity: Severity, incident_id: int, order: Order) -> tuple[int, ...]:
    """Where an incident stands in a list of that order."""
    return (SEVERITIES.index(severity), incident_id) if order == "worst" else (incident_id,)


def muted_now() -> ColumnElement[bool]:
    """views.muted_now in SQL."""
    return IncidentRow.muted & or_(IncidentRow.muted_until.is_(None), IncidentRow.muted_until > datetime.now(UTC))


def seen_lately(session: Session, subject_id: int, since: datetime) -> list[IncidentRef]:
    """The newest five incidents of a subject that were seen since a time, including resolved ones."""
    return [IncidentRef.model_validate(row) for row in incidents(session, subject_id=subject_id, since=since, limit=5)]


def active_on(session: Session, subject_ids: Sequence[int]) -> dict[int, list[IncidentRef]]:
    """Incidents that are not over, newest first, by each of the given subjects that they are about or have reached."""
    active = IncidentRow.resolved_at.is_(None)
    about = select(lives_on.label("subject"), IncidentRow.id).where(active)
    on = about.union(select(reached_ids, IncidentRow.id).where(active)).subquery()
    rows = session.execute(
        select(on.c.subject, IncidentRow.id, IncidentRow.title, IncidentRow.severity, IncidentRow.state)
        .join(on, on.c.id == IncidentRow.id)
        .where(on.c.subject.in_(subject_ids))
        .order_by(IncidentRow.id.desc())
    )
    found: dict[int, list[IncidentRef]] = {}
    for row in rows:
        found.setdefault(row.subject, []).append(IncidentRef.model_validate(row))
    return found


def risks(
    session: Session,
    *,
    subject_id: int | None = None,
    causes: Sequence[str] = (),
    own: bool = False,
    before_id: int | None = None,
    limit: int = 50,
    now: datetime | None = None,
) -> list[RiskRow]:
    """Risks seen in the last 24 h. `own`: those of the product itself, which are left out otherwise.

    Those of a subject are all of it, whoever it belongs to.
    """
    recent = RiskRow.last_seen_at >= (now or datetime.now(UTC)) - RISK_TTL
    query = select(RiskRow).where(recent)
    if subject_id is not None:
        query = query.where(RiskRow.subject_id == subject_id)
    else:
        subjects = session.scalars(select(RiskRow.subject_id).where(recent).distinct()).all()
        ours = RiskRow.subject_id.in_(inventory.own(session, subjects))
        query = query.where(ours if own else ~ours)
    if causes:
        query = query.where(RiskRow.cause.in_(causes))
    if before_id is not None:
        query = query.where(RiskRow.id < before_id)
    return list(session.scalars(query.order_by(RiskRow.id.desc()).limit(limit)))
