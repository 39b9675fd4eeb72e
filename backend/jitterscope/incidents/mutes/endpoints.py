"""Mutes: list, preview, create, and end them. They change what incidents send, so they need incident scopes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope.answers import refuses
from jitterscope.bounds import CHART, QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.errors import not_found
from jitterscope.incidents.api import last_week
from jitterscope.incidents.mutes import service, store, views
from jitterscope.incidents.mutes.models import MuteRow
from jitterscope.incidents.mutes.schemas import Mute, MuteCreate, MuteFilter, MutePreview
from jitterscope.kit import cursor as cursors
from jitterscope.kit.declared import audited, not_audited
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/mutes", tags=["mutes"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]
Writer = Annotated[Principal, Depends(require("incidents:write"))]


@router.get("")
@bounded(QUICK)
def list_mutes(
    principal: Reader,
    ended: bool | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Page[Mute]:
    """Mutes, newest first; `ended`: only those that have ended, or that have not."""
    before = one_position(cursor)
    with organization_session(principal.organization_id) as session:
        rows = store.page(session, datetime.now(UTC), ended=ended, before_id=before, limit=limit + 1)
        items = views.mutes_of(session, rows[:limit])
    return Page(items=items, next_cursor=cursors.encode(items[-1].id) if len(rows) > limit else None)


@router.post("", status_code=201, dependencies=[audited("mute.create")])
@bounded(QUICK)
@refuses(404, "The incident or resource does not exist in this organization.")
@refuses(409, "The organization has too many mutes.")
def create_mute(principal: Writer, request: MuteCreate) -> Mute:
    """Mute matching incidents from now on. They are still found and listed. When the mute ends, channels are notified
    of those that are open."""
    return _one(principal, service.create(principal, request))


@router.post("/preview", dependencies=[not_audited("replays what is stored; changes nothing")])
@bounded(CHART)
def preview_mute(principal: Reader, request: MuteFilter) -> MutePreview:
    """The incidents of the last 7 days that such a mute would have muted."""
    service.check_filter(request)
    with organization_session(principal.organization_id) as session:
        return views.preview(last_week.load(session), request)


@router.post("/{mute_id}/end", dependencies=[audited("mute.end")])
@bounded(QUICK)
def end_mute(principal: Writer, mute_id: int) -> Mute:
    """End a mute now. A mute that has already ended does not change."""
    service.end(principal, mute_id)
    return _one(principal, mute_id)


def _one(principal: Principal, mute_id: int) -> Mute:
    with organization_session(principal.organization_id) as session:
        row = session.get(MuteRow, mute_id)
        if row is None:
            raise not_found("mute", mute_id)
        return views.mutes_of(session, [row])[0]
