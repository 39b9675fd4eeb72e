"""Flight recorder captures around an incident: what ran, as a flame graph and a process table."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query

from jitterscope import requested_window
from jitterscope.bounds import CHART, QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.errors import Problem
from jitterscope.incidents.api.capture_schemas import CaptureDetail, CaptureList
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.timeline import captures
from jitterscope.paging import unpaged
from jitterscope.requested_window import From, When
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["incidents"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]


@router.get("/incidents/{incident_id}/captures")
@bounded(QUICK)
@unpaged("The newest 100.")
def list_captures(principal: Reader, incident_id: int) -> CaptureList:
    """Captures of the subject and its node at the time of an incident: the newest 100, oldest first."""
    with organization_session(principal.organization_id) as session:
        return CaptureList(items=captures.of(session, actions.get(session, incident_id)))


@router.get("/incidents/{incident_id}/captures/{capture_id}")
@bounded(CHART)
def get_capture(
    principal: Reader,
    incident_id: int,
    capture_id: int,
    from_: From = None,
    to: When = None,
    scope: Annotated[Literal["node", "subject"], Query(description="All processes, or those of the subject")] = "node",
    pid: Annotated[int | None, Query(ge=0, le=2**32 - 1, description="One process; overrides `scope`")] = None,
) -> CaptureDetail:
    """Merged stacks and processes of a capture, optionally of a part of its time and of some processes."""
    wanted = captures.Wanted(requested_window.instant_or_none(from_), requested_window.instant_or_none(to), scope, pid)
    if wanted.from_us is not None and wanted.to_us is not None and wanted.from_us >= wanted.to_us:
        raise Problem(422, "invalid-window", "Invalid window", "`from` must be before `to`.", "Swap them.")
    with organization_session(principal.organization_id) as session:
        return captures.detail(session, actions.get(session, incident_id), capture_id, wanted)
