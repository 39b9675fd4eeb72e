"""GET /resources/{id}/diagnosis: whether a resource is being diagnosed, even if there is nothing to find."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.errors import not_found
from jitterscope.incidents.api.schemas import DiagnosisState
from jitterscope.incidents.api.views import time_of
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.inventory import service as inventory
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["incidents"])


@router.get("/resources/{resource_id}/diagnosis")
@bounded(QUICK)
def get_diagnosis_state(
    principal: Annotated[Principal, Depends(require("incidents:read"))], resource_id: int
) -> DiagnosisState:
    """When the cgroup or node of a resource was last diagnosed, last triggered a diagnosis, and is diagnosed next."""
    with organization_session(principal.organization_id) as session:
        subject = inventory.owning_subject(session, resource_id)
        if subject is None and inventory.resource(session, resource_id) is None:
            raise not_found("resource", resource_id)
        entry = None if subject is None else schedule.state(session, subject.id)
        return DiagnosisState(
            subject_id=None if subject is None else subject.id,
            diagnosed_until=time_of(entry.diagnosed_us) if entry and entry.diagnosed_us else None,
            triggered_at=time_of(entry.triggered_us) if entry and entry.triggered_us else None,
            next_at=None if entry is None else entry.due_at,
        )
