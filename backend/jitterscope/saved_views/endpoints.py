"""Saved views: save, list, rename, share, delete."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.errors import Problem
from jitterscope.kit import cursor as cursors
from jitterscope.kit.declared import audited
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position
from jitterscope.saved_views import service, store
from jitterscope.saved_views.models import SavedViewRow
from jitterscope.saved_views.schemas import Page as Path
from jitterscope.saved_views.schemas import SavedView, SavedViewChange, SavedViewRequest
from jitterscope.tenancy import members
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/views", tags=["views"])
Reader = Annotated[Principal, Depends(require("views:read"))]
Writer = Annotated[Principal, Depends(require("views:write"))]
_NOT_YOURS = "It is another member's and the caller is not an admin, or it is shared and the caller may not share."
# Private views need no right over the organization; views that every member sees do.
SHARE = "shared_views:write"


@router.get("")
@bounded(QUICK)
def list_views(
    principal: Reader,
    page: Annotated[Path | None, Query(description="Only views of this page")] = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> Page[SavedView]:
    """The caller's views and those that others share, newest first."""
    before = one_position(cursor)
    with organization_session(principal.organization_id) as session:
        rows = store.listed(session, _user(principal), page, before, limit + 1)
        items = _views(session, principal, rows[:limit])
    return Page(items=items, next_cursor=cursors.encode(items[-1].id) if len(rows) > limit else None)


@router.post("", status_code=201, dependencies=[audited("view.create")])
@bounded(QUICK)
@refuses(403, "The caller may not share views.")
@refuses(409, "The member has reached the limit of views.")
def create_view(principal: Writer, request: SavedViewRequest) -> SavedView:
    """Save a page with its parameters. A view saved with a token belongs to the token's owner. Sharing needs
    `shared_views:write`."""
    _check_sharing(principal, request)
    user_id = _user(principal)
    if user_id is None:
        raise Problem(409, "no-owner", "No owner", "A view belongs to a member.", "Sign in, and save it again.")
    with organization_session(principal.organization_id) as session:
        row = SavedViewRow(organization_id=principal.organization_id, owner_id=user_id, **request.model_dump())
        service.create(session, row)
        audit.record(session, principal, "view.create", f"view {row.id}", request.model_dump())
        (view,) = _views(session, principal, [row])
        return view


@router.put("/{view_id}", dependencies=[audited("view.change")])
@bounded(QUICK)
@refuses(403, _NOT_YOURS)
def change_view(principal: Writer, view_id: int, request: SavedViewChange) -> SavedView:
    """Rename a view, share or unshare it, or change its parameters. A shared view needs `shared_views:write`."""
    _check_sharing(principal, request)
    with organization_session(principal.organization_id) as session:
        row = _changeable(session, principal, view_id)
        wanted = request.model_dump()
        detail = {
            name: {"from": getattr(row, name), "to": value}
            for name, value in wanted.items()
            if getattr(row, name) != value
        }
        for name, value in wanted.items():
            setattr(row, name, value)
        session.flush()
        if detail:
            audit.record(session, principal, "view.change", f"view {view_id}", detail)
        (view,) = _views(session, principal, [row])
        return view


@router.delete("/{view_id}", dependencies=[audited("view.delete")])
@bounded(QUICK)
@refuses(403, _NOT_YOURS)
def delete_view(principal: Writer, view_id: int) -> SavedView:
    """Delete a view for everyone who sees it."""
    with organization_session(principal.organization_id) as session:
        row = _changeable(session, principal, view_id)
        (view,) = _views(session, principal, [row])
        session.delete(row)
        audit.record(session, principal, "view.delete", f"view {view_id}", {"name": view.name, "shared": view.shared})
        return view


def _user(principal: Principal) -> int | None:
    """Who the caller is: of a token, whose it is."""
    return principal.user_id if principal.user_id is not None else principal.owner_id


def _may_change(principal: Principal, row: SavedViewRow) -> bool:
    if not principal.can("views:write") or (row.shared and not principal.can(SHARE)):
        return False
    return row.owner_id == _user(principal) or principal.can("members:write")


def _check_sharing(principal: Principal, wanted: SavedViewChange) -> None:
    if wanted.shared and not principal.can(SHARE):
        raise Problem(
            403, "may-not-share", "Sharing not allowed", f"Sharing a view needs the scope {SHARE}.",
            "Save it for yourself, or ask an editor or an admin to share it.",
        )  # fmt: skip


def _changeable(session: Session, principal: Principal, view_id: int) -> SavedViewRow:
    row = service.visible(session, _user(principal), view_id)
    if not _may_change(principal, row):
        raise Problem(403, "not-yours", "View not changed", _NOT_YOURS, "Save a view of your own, or ask an admin.")
    return row


def _views(session: Session, principal: Principal, rows: list[SavedViewRow]) -> list[SavedView]:
    names = {one.user_id: one.name for one in members.listed(session, principal.organization_id)} if rows else {}
    return [
        SavedView(
            id=row.id, name=row.name, page=row.page, search=row.search, shared=row.shared,
            owner=names.get(row.owner_id), mine=row.owner_id == _user(principal),
            may_change=_may_change(principal, row), created_at=row.created_at,
        )
        for row in rows
    ]  # fmt: skip
