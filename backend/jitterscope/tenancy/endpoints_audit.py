"""GET /audit."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from jitterscope import db
from jitterscope.audit import service
from jitterscope.bounds import QUICK, bounded
from jitterscope.kit import cursor as cursors
from jitterscope.kit.schema import Page, Schema
from jitterscope.paging import one_position
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/audit", tags=["audit"])


class AuditItem(Schema):
    id: int
    at: datetime
    actor: str = Field(description="A name that its bearer chose; `user_id` and `token_id` are certain")
    actor_kind: str
    user_id: int | None
    token_id: int | None
    action: str
    target: str
    detail: dict[str, Any]


@router.get("")
@bounded(QUICK)
def list_audit(
    principal: Annotated[Principal, Depends(require("audit:read"))],
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Page[AuditItem]:
    """What was changed in the organization, and by whom; newest first."""
    before = one_position(cursor)
    with db.organization_session(principal.organization_id) as session:
        found = service.entries(session, principal.organization_id, before, limit + 1)
        items = [AuditItem.model_validate(entry) for entry in found[:limit]]
    return Page(items=items, next_cursor=cursors.encode(items[-1].id) if len(found) > limit else None)
