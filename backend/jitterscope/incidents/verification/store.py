"""Verifications and what came of predictions, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, exists, func, select
from sqlalchemy.orm import Session

from jitterscope.incidents.models import IncidentRow, lives_on
from jitterscope.incidents.verification.models import OutcomeRow, VerificationRow

# Verifications of one incident that are read.
MOST_OF_INCIDENT = 200


def newest(session: Session, incident_id: int) -> VerificationRow | None:
    """The last fix that was applied to an incident; None if there was none."""
    query = select(VerificationRow).where(VerificationRow.incident_id == incident_id)
    return session.scalars(query.order_by(VerificationRow.id.desc()).limit(1)).first()


def of_incident(session: Session, incident_id: int) -> list[VerificationRow]:
    """Verifications of an incident, newest first; of very many only the newest."""
    query = select(VerificationRow).where(VerificationRow.incident_id == incident_id)
    return list(session.scalars(query.order_by(VerificationRow.id.desc()).limit(MOST_OF_INCIDENT)))


def waiting(session: Session, incident_id: int) -> VerificationRow | None:
    """The verification that has no verdict yet."""
    query = select(VerificationRow).where(VerificationRow.incident_id == incident_id)
    return session.scalars(query.where(VerificationRow.state == "waiting").with_for_update()).one_or_none()


def all_waiting(session: Session) -> Sequence[VerificationRow]:
    """Verifications of all incidents that have no verdict yet."""
    return session.scalars(select(VerificationRow).where(VerificationRow.state == "waiting")).all()


def last_failed(session: Session, incident_id: int) -> VerificationRow | None:
    """The last fix of an incident that did not help or made it worse."""
    query = select(VerificationRow).where(
        VerificationRow.incident_id == incident_id, VerificationRow.state.in_(("did_not_help", "made_worse"))
    )
    return session.scalars(query.order_by(VerificationRow.id.desc()).limit(1)).first()


def last_verified_result(session: Session, incident_id: int) -> dict[str, Any] | None:
    """What the last fix of an incident that helped was measured to do."""
    query = select(VerificationRow.result).where(
        VerificationRow.incident_id == incident_id, VerificationRow.state == "verified"
    )
    return session.scalars(query.order_by(VerificationRow.id.desc()).limit(1)).first()


def listed(
    session: Session, states: Sequence[str], before_id: int | None, limit: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Applied fixes with their incidents, newest first, without the blocks behind the figures: they are large."""
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
    return session.execute(query).all()


def active_incidents(session: Session) -> Sequence[Row[int, int, bool]]:
    """Incidents that are not over: `id`, `subject_id`, and whether a fix `waits` for its verdict."""
    waiting = exists().where(VerificationRow.incident_id == IncidentRow.id, VerificationRow.state == "waiting")
    active = select(IncidentRow.id, lives_on.label("subject_id"), waiting.label("waits"))
    return session.execute(active.where(IncidentRow.resolved_at.is_(None))).all()


def clock(session: Session) -> datetime:
    """The time by the database's clock."""
    now: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
    return now


def outcomes(session: Session, limit: int) -> Sequence[OutcomeRow]:
    """What came of predictions, newest first."""
    return session.scalars(select(OutcomeRow).order_by(OutcomeRow.id.desc()).limit(limit)).all()


def verdicts(session: Session, without_fix: str) -> Sequence[Row[str, str, int]]:
    """(fix, verdict, how often); `without_fix` stands for changes that no fix proposed."""
    kind = func.coalesce(VerificationRow.fix_id, without_fix)
    return session.execute(
        select(kind, VerificationRow.state, func.count())
        .where(VerificationRow.state.in_(("verified", "did_not_help", "made_worse")))
        .group_by(kind, VerificationRow.state)
    ).all()
