"""Incidents that are not over: counts and the worst of them; applied fixes, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from jitterscope.incidents.api.overview_schemas import AppliedFix, SeverityCount
from jitterscope.incidents.api.queries import SEVERITIES, muted_now, severity_rank
from jitterscope.incidents.api.verification_schemas import VerifiedMeasure
from jitterscope.incidents.api.views import cause_title
from jitterscope.incidents.models import IncidentRow, lives_on
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.inventory import service as inventory

_RECENT = timedelta(days=1)
_MOST_NOT_KNOWN = 1000


def counts(session: Session) -> tuple[list[SeverityCount], int]:
    """How many incidents are not over, by severity, and how many of them are muted."""
    muted = func.count().filter(muted_now())
    rows = session.execute(
        select(IncidentRow.severity, func.count(), muted)
        .where(IncidentRow.resolved_at.is_(None))
        .group_by(IncidentRow.severity)
    ).all()
    by_severity = {severity: count for severity, count, _ in rows}
    found = [SeverityCount(severity=one, incidents=by_severity[one]) for one in SEVERITIES if one in by_severity]
    return found, sum(held for _, _, held in rows)


def not_known(session: Session) -> int:
    """How many incidents ended in the last day as not known, and are on nodes that are still silent."""
    ended = select(lives_on).where(
        IncidentRow.state == "not_known", IncidentRow.resolved_at >= datetime.now(UTC) - _RECENT
    )
    subjects = session.scalars(ended.order_by(IncidentRow.resolved_at.desc()).limit(_MOST_NOT_KNOWN)).all()
    silent = inventory.on_silent_nodes(session, subjects) if subjects else set()
    return sum(one in silent for one in subjects)


def worst(session: Session, limit: int) -> list[IncidentRow]:
    """The worst incidents that are not over; within a severity the newest first, muted ones last."""
    active = select(IncidentRow).where(IncidentRow.resolved_at.is_(None))
    return list(session.scalars(active.order_by(muted_now(), severity_rank, IncidentRow.id.desc()).limit(limit)))


def fixes(session: Session, states: Sequence[str], before_id: int | None, limit: int) -> list[AppliedFix]:
    """Applied fixes, without the blocks behind the figures: they are large."""
    of = VerificationRow
    query = (
        select(
            of.id, of.incident_id, IncidentRow.title, IncidentRow.cause, of.subject_id, of.subject_name, of.fix_title,
            of.state, of.started_by, of.applied_at, of.finished_at, of.verdict, of.result["measures"].label("measures"),
        )
        .join(IncidentRow, IncidentRow.id == of.incident_id)
        .order_by(of.id.desc())
        .limit(limit)
    )  # fmt: skip
    if states:
        query = query.where(of.state.in_(states))
    if before_id is not None:
        query = query.where(of.id < before_id)
    return [
        AppliedFix(
            id=row.id,
            incident_id=row.incident_id,
            incident_title=row.title,
            cause=row.cause,
            cause_title=cause_title(row.cause),
            subject_id=row.subject_id,
            subject_name=row.subject_name,
            fix_title=row.fix_title,
            state=row.state,
            started_by=row.started_by,
            applied_at=row.applied_at,
            finished_at=row.finished_at,
            verdict=row.verdict,
            measure=_deciding([VerifiedMeasure.model_validate(one) for one in row.measures or ()]),
        )
        for row in session.execute(query)
    ]


def _deciding(measures: Sequence[VerifiedMeasure]) -> VerifiedMeasure | None:
    """The first figure that decides the verdict and is known before and after."""
    known = (one for one in measures if one.decides and one.before is not None and one.after is not None)
    return next(known, None)
