"""Applies what a look at a verification came to: keeps it, or ends it with its verdict."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from jitterscope.incidents import verifications
from jitterscope.incidents.calibration import OTHER
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.transitions import record
from jitterscope.incidents.verification_models import OutcomeRow, VerificationRow
from jitterscope.incidents.verify_measure import Measured


def apply(session: Session, row: IncidentRow, waiting: VerificationRow, measured: Measured) -> None:
    """The incident's lock is held."""
    waiting.checked_at = datetime.now(UTC)
    waiting.result = measured.result.model_dump(mode="json")
    waiting.waiting_for = measured.waiting_for
    if measured.verdict == "waiting":
        if measured.gave_up:
            _give_up(session, row, waiting)
        return
    waiting.state, waiting.verdict, waiting.waiting_for = measured.verdict, measured.sentence, None
    waiting.finished_at = datetime.now(UTC)
    after_to = measured.result.after_to
    assert after_to is not None, "a verdict has a window"
    row.state = measured.verdict
    # What changes from now on is another fix.
    row.baseline_at = after_to
    if measured.verdict == "verified":
        row.resolved_at = max(after_to, row.last_seen_at)
    for one in measured.measures:
        if one.predicted is None or one.after is None or one.inside is None or one.error_ratio is None:
            continue
        session.add(
            OutcomeRow(
                organization_id=row.organization_id,
                incident_id=row.id,
                verification_id=waiting.id,
                subject_name=waiting.subject_name,
                fix_id=waiting.fix_id or OTHER,
                metric=one.metric,
                predicted=one.predicted.model_dump(mode="json"),
                measured=one.after,
                before=one.before,
                inside=one.inside,
                error_ratio=one.error_ratio,
            )
        )
    session.flush()
    record(session, row, measured.verdict, waiting.verdict, None, waiting)


def _give_up(session: Session, row: IncidentRow, waiting: VerificationRow) -> None:
    why = f"No comparison was possible within 24 h. What was missing: {waiting.waiting_for or 'data'}"
    verifications.replace(waiting, why)
    row.state, row.baseline_at = "open", max(row.baseline_at, waiting.applied_at)
    session.flush()
    record(session, row, "noted", why)
