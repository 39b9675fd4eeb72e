"""Lists of incidents and risks, one page at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import SEVERITIES, Severity
from jitterscope.incidents.api.schemas import IncidentRef
from jitterscope.incidents.models import RiskRow
from jitterscope.incidents.store import incidents as stored
from jitterscope.incidents.store import risks as stored_risks
from jitterscope.inventory import service as inventory

# A risk not seen for this long is no longer listed.
RISK_TTL = timedelta(hours=24)


def place(severity: Severity, incident_id: int, order: stored.Order) -> tuple[int, ...]:
    """Where an incident stands in a list of that order."""
    return (SEVERITIES.index(severity), incident_id) if order == "worst" else (incident_id,)


def seen_lately(session: Session, subject_id: int, since: datetime) -> list[IncidentRef]:
    """The newest five incidents of a subject that were seen since a time, including resolved ones."""
    return [
        IncidentRef.model_validate(row) for row in stored.listed(session, subject_id=subject_id, since=since, limit=5)
    ]


def active_on(session: Session, subject_ids: Sequence[int]) -> dict[int, list[IncidentRef]]:
    """Incidents that are not over, newest first, by each of the given subjects that they are about or have reached."""
    found: dict[int, list[IncidentRef]] = {}
    for row in stored.active_on(session, subject_ids):
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
    since = (now or datetime.now(UTC)) - RISK_TTL
    among: Collection[int] | None = None
    outside: Collection[int] | None = None
    if subject_id is not None:
        among = [subject_id]
    elif own:
        among = inventory.own(session, stored_risks.subjects(session, since))
    else:
        outside = inventory.own(session, stored_risks.subjects(session, since))
    return stored_risks.listed(
        session, since, among=among, outside=outside, causes=causes, before_id=before_id, limit=limit
    )
