"""What a verified fix left of its fault: symptoms within that remainder do not reopen the incident."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.incidents.api.verification_schemas import VerificationResult
from jitterscope.incidents.lifecycle.decide import Remainder, shares_of
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.verification import store as verifications

# One window can show twice what was measured over many.
_MARGIN = 2.0


def of(session: Session, row: IncidentRow) -> Remainder | None:
    """None if the incident was not closed by a verification, or nothing of the fault was left."""
    if row.state != "verified":
        return None
    content = verifications.last_verified_result(session, row.id)
    if not content:
        return None
    after = {one.metric: one.after or 0.0 for one in VerificationResult.model_validate(content).measures}
    left = {one.id: _MARGIN * after.get(one.id, 0.0) for one in shares_of(row.cause)}
    return Remainder(left) if any(left.values()) else None
