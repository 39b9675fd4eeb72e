"""Verifications: report that a fix was applied, see its outcome, and how accurate predictions were so far."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope.answers import refuses
from jitterscope.bounds import CHART, QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.incidents.api import whole
from jitterscope.incidents.api.schemas import Incident
from jitterscope.incidents.api.verification_schemas import Calibration, Verification, VerifyRequest
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.verification import calibration, verifications
from jitterscope.incidents.verification.views import verification_of
from jitterscope.kit.declared import audited
from jitterscope.paging import unpaged
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["incidents"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]
Writer = Annotated[Principal, Depends(require("incidents:write"))]


@router.post("/incidents/{incident_id}/verify", dependencies=[audited("incident.fix_applied")])
@bounded(QUICK)
@refuses(409, "The incident is closed and another one of its cause and subject is active, or its history is full.")
def verify_incident(principal: Writer, incident_id: int, request: VerifyRequest | None = None) -> Incident:
    """Report that a fix was applied, and when. Changes that the collector sees start a verification automatically."""
    given = request or VerifyRequest()
    with organization_session(principal.organization_id) as session:
        row = verifications.start_by_hand(session, principal, incident_id, given.fix_id, given.applied_at, given.note)
        return whole.incident(session, row)


@router.get("/incidents/{incident_id}/verifications")
@bounded(QUICK)
@unpaged(f"The newest {verifications.MOST_OF_INCIDENT}.")
def list_verifications(principal: Reader, incident_id: int) -> list[Verification]:
    """Every fix applied to an incident, newest first."""
    with organization_session(principal.organization_id) as session:
        row = actions.get(session, incident_id)
        return [verification_of(one) for one in verifications.of_incident(session, row.id)]


@router.get("/calibration")
@bounded(CHART)
def get_calibration(principal: Reader, recent: Annotated[int, Query(ge=0, le=500)] = 100) -> Calibration:
    """How predictions turned out, by kind of fix, and how many of all slow answers have a known cause."""
    with organization_session(principal.organization_id) as session:
        return calibration.read(session, recent)
