"""Links to incidents for people without an account: create, list, revoke, and forbid them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope import policies
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.incidents.lifecycle import actions
from jitterscope.kit import cursor as cursors
from jitterscope.kit.declared import audited
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position
from jitterscope.sharing import links, store, views
from jitterscope.sharing.models import SharingPolicyRow
from jitterscope.sharing.schemas import NewSharedLink, SharedLink, SharedLinkRequest, SharingPolicy, SharingState
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["sharing"])
Reader = Annotated[Principal, Depends(require("links:read"))]
Writer = Annotated[Principal, Depends(require(links.SCOPE))]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/incidents/{incident_id}/links")
@bounded(QUICK)
def list_incident_links(
    principal: Reader, incident_id: int, limit: Limit = 50, cursor: str | None = None
) -> Page[SharedLink]:
    """Links to an incident, newest first, including ended ones; never with their secrets."""
    return _listed(principal, incident_id, limit, cursor)


@router.post("/incidents/{incident_id}/links", status_code=201, dependencies=[audited("link.create")])
@bounded(QUICK)
@refuses(403, "The organization does not allow links.")
def create_link(principal: Writer, incident_id: int, request: SharedLinkRequest | None = None) -> NewSharedLink:
    """Create a link that shows only this incident to anyone who has it. Only this response has the secret."""
    days = (request or SharedLinkRequest()).expires_in_days
    with organization_session(principal.organization_id) as session:
        incident = actions.get(session, incident_id)
        row, secret = links.create(session, principal, incident.id, days)
        detail = {"link": row.id, "title": incident.title, "expires_at": f"{row.expires_at}"}
        audit.record(session, principal, "link.create", f"incident {incident.id}", detail)
        (link,) = views.links_of(session, principal.organization_id, [row])
        return NewSharedLink(link=link, url=views.url_of(secret))


@router.get("/links")
@bounded(QUICK)
def list_links(principal: Reader, limit: Limit = 50, cursor: str | None = None) -> Page[SharedLink]:
    """Links to all incidents, newest first, including ended ones; never with their secrets."""
    return _listed(principal, None, limit, cursor)


@router.delete("/links/{link_id}", dependencies=[audited("link.revoke")])
@bounded(QUICK)
def revoke_link(principal: Writer, link_id: int) -> SharedLink:
    """Revoke a link immediately. A link that is already revoked does not change."""
    with organization_session(principal.organization_id) as session:
        row, was_active = links.revoke(session, link_id)
        if was_active:
            detail = {"link": row.id, "created_by": row.created_by}
            audit.record(session, principal, "link.revoke", f"incident {row.incident_id}", detail)
        (link,) = views.links_of(session, principal.organization_id, [row])
        return link


@router.get("/links/policy")
@bounded(QUICK)
def get_sharing_policy(principal: Reader) -> SharingState:
    """Whether the organization allows links."""
    with organization_session(principal.organization_id) as session:
        return views.state_of(policies.read(session, SharingPolicyRow))


@router.put("/links/policy", dependencies=[audited("sharing.change")])
@bounded(QUICK)
def set_sharing_policy(
    principal: Annotated[Principal, Depends(require("organizations:write"))], request: SharingPolicy
) -> SharingState:
    """Allow or forbid links. While they are forbidden, none can be created and existing ones do not work."""
    with organization_session(principal.organization_id) as session:
        column = SharingPolicyRow.links_allowed
        before = policies.change(session, column, usual=True, wanted=request.links_allowed, by=principal.actor)
        if before != request.links_allowed:
            detail = {"links_allowed": {"from": before, "to": request.links_allowed}}
            audit.record(session, principal, "sharing.change", "sharing", detail)
        return views.state_of(policies.read(session, SharingPolicyRow))


def _listed(principal: Principal, incident_id: int | None, limit: int, cursor: str | None) -> Page[SharedLink]:
    before = one_position(cursor)
    with organization_session(principal.organization_id) as session:
        if incident_id is not None:
            actions.get(session, incident_id)
        rows = store.links(session, incident_id=incident_id, before_id=before, limit=limit + 1)
        items = views.links_of(session, principal.organization_id, rows[:limit])
    return Page(items=items, next_cursor=cursors.encode(items[-1].id) if len(rows) > limit else None)
