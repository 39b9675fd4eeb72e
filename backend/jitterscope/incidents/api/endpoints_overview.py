"""What is wrong now in one answer, and every applied fix with its effect."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.incidents.api import node_names, overview, views
from jitterscope.incidents.api.overview_schemas import AppliedFix, Overview
from jitterscope.incidents.api.verification_schemas import VerificationState
from jitterscope.kit import cursor as cursors
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["incidents"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]


@router.get("/overview")
@bounded(QUICK)
def get_overview(principal: Reader, worst: Annotated[int, Query(ge=0, le=20)] = 3) -> Overview:
    """The number of active incidents by severity, and the worst of them."""
    with organization_session(principal.organization_id) as session:
        counts, muted = overview.counts(session)
        rows, not_known = overview.worst(session, worst), overview.not_known(session)
        shown = node_names.told_apart(session, [views.summary_of(row) for row in rows])
    return Overview(counts=counts, muted=muted, not_known=not_known, worst=shown)


@router.get("/fixes")
@bounded(QUICK)
def list_fixes(
    principal: Reader,
    state: Annotated[list[VerificationState] | None, Query(max_length=5)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    cursor: str | None = None,
) -> Page[AppliedFix]:
    """Applied fixes, newest first, each with its deciding figure before and after."""
    with organization_session(principal.organization_id) as session:
        items = overview.fixes(session, state or (), one_position(cursor), limit + 1)
    more = len(items) > limit
    return Page(items=items[:limit], next_cursor=cursors.encode(items[limit - 1].id) if more else None)
