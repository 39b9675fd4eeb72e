"""REST shapes of what is wrong now, and of fixes that were applied."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from jitterscope.diagnosis.core.finding import Severity
from jitterscope.incidents.api.schemas import IncidentSummary
from jitterscope.incidents.api.verification_schemas import VerificationState, VerifiedMeasure
from jitterscope.kit.schema import Schema


class SeverityCount(Schema):
    severity: Severity
    incidents: int


class Overview(Schema):
    """Active incidents."""

    counts: list[SeverityCount] = Field(
        description="By severity, worst first; severities without incidents are left out"
    )
    muted: int = Field(description="Of these, how many are muted")
    not_known: int = Field(
        description="Not among them: incidents that ended in the last 24 h because their node sent no more data, and "
        "whose node is still silent"
    )
    worst: list[IncidentSummary] = Field(description="Worst first, then newest; muted ones last")


class AppliedFix(Schema):
    """A change that was made to an incident's subject, and what it did."""

    id: int
    incident_id: int
    incident_title: str
    cause: str
    cause_title: str
    subject_id: int
    subject_name: str
    fix_title: str
    state: VerificationState
    started_by: str = Field(description='"jitterscope" where facts told, or a user\'s name')
    applied_at: datetime
    finished_at: datetime | None = Field(description="Null: it is still being measured")
    verdict: str | None = Field(description="A sentence, once there is one")
    measure: VerifiedMeasure | None = Field(description="The deciding figure, if it was measured")
