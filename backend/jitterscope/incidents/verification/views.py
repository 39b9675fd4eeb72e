"""Stored verifications as the API shows them."""

from __future__ import annotations

from collections.abc import Iterable

from jitterscope.diagnosis.core.landing import Seen
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.diagnosis.verification.plan import kinds, plan
from jitterscope.incidents.api.verification_schemas import FixLanding, Verification, VerificationResult
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.notify.payload import PayloadChange, PayloadMeasure, PayloadVerification


def verification_of(row: VerificationRow) -> Verification:
    result = VerificationResult.model_validate(row.result) if row.result else VerificationResult()
    return Verification.model_validate(
        {
            "id": row.id,
            "state": row.state,
            "started_by": row.started_by,
            "applied_at": row.applied_at,
            "fix_id": row.fix_id,
            "fix_title": row.fix_title,
            "changes": row.changes,
            "subject_id": row.subject_id,
            "subject_name": row.subject_name,
            "before_from": row.before_from,
            "before_to": row.before_to,
            "after_from": result.after_from,
            "after_to": result.after_to,
            "waiting_for": row.waiting_for,
            "needed_s": result.needed_s if row.state == "waiting" else None,
            "collected_s": result.collected_s if row.state == "waiting" else None,
            "verdict": row.verdict,
            "measures": result.measures,
            "before": result.before,
            "after": result.after,
            "notes": result.notes,
            "finished_at": row.finished_at,
        }
    )


def payload_verification(row: VerificationRow) -> PayloadVerification:
    """The verification as notifications show it: figures only once they are final."""
    result = VerificationResult.model_validate(row.result) if row.result else VerificationResult()
    return PayloadVerification.model_validate(
        {
            "state": row.state,
            "fix_id": row.fix_id,
            "fix_title": row.fix_title,
            "applied_at": row.applied_at,
            "changes": [PayloadChange.model_validate(step) for step in row.changes],
            "verdict": row.verdict,
            "measures": []
            if row.state == "waiting"
            else [
                PayloadMeasure(
                    metric=one.metric,
                    title=one.title,
                    unit=one.unit,
                    before=one.before,
                    after=one.after,
                    predicted_low=None if one.predicted is None else one.predicted.low,
                    predicted_high=None if one.predicted is None else one.predicted.high,
                    inside=one.inside,
                )
                for one in result.measures
            ],
        }
    )


def landings_of(cause_id: str, fix_ids: Iterable[str]) -> list[FixLanding]:
    """How each fix of an incident is detected; those that this version no longer has are left out."""
    if cause_id not in all_causes():
        return []
    found = []
    for kind in kinds(cause_id, fix_ids):
        how = plan(cause_id, kind.id)
        titles = {one.id: one.title for one in how.measures}
        seen = isinstance(kind.landing, Seen)
        found.append(
            FixLanding(
                fix_id=kind.id,
                seen=seen,
                text=kind.landing.how if isinstance(kind.landing, Seen) else kind.landing.why,
                measures=[titles[name] for name in how.deciding],
                lab=kind.lab,
            )
        )
    return found
