"""Incidents that are not over: counts and the worst of them; applied fixes, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import SEVERITIES
from jitterscope.incidents.api.overview_schemas import AppliedFix, SeverityCount
from jitterscope.incidents.api.verification_schemas import VerifiedMeasure
from jitterscope.incidents.api.views import cause_title
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.store import incidents
from jitterscope.incidents.verification import store as verifications
from jitterscope.inventory import service as inventory

_RECENT = timedelta(days=1)
_MOST_NOT_KNOWN = 1000


def counts(session: Session) -> tuple[list[SeverityCount], int]:
    """How many incidents are not over, by severity, and how many of them are muted."""
    rows = incidents.counts(session)
    by_severity = {severity: count for severity, count, _ in rows}
    found = [SeverityCount(severity=one, incidents=by_severity[one]) for one in SEVERITIES if one in by_severity]
    return found, sum(held for _, _, held in rows)


def not_known(session: Session) -> int:
    """How many incidents ended in the last day as not known, and are on nodes that are still silent."""
    subjects = incidents.ended_as_not_known(session, datetime.now(UTC) - _RECENT, _MOST_NOT_KNOWN)
    silent = inventory.on_silent_nodes(session, subjects) if subjects else set()
    return sum(one in silent for one in subjects)


def worst(session: Session, limit: int) -> list[IncidentRow]:
    """The worst incidents that are not over; within a severity the newest first, muted ones last."""
    return incidents.worst(session, limit)


def fixes(session: Session, states: Sequence[str], before_id: int | None, limit: int) -> list[AppliedFix]:
    """Applied fixes, without the blocks behind the figures: they are large."""
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
        for row in verifications.listed(session, states, before_id, limit)
    ]


def _deciding(measures: Sequence[VerifiedMeasure]) -> VerifiedMeasure | None:
    """The first figure that decides the verdict and is known before and after."""
    known = (one for one in measures if one.decides and one.before is not None and one.after is not None)
    return next(known, None)
