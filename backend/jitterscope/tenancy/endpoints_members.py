"""organizations and members."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import select, text, update

from jitterscope import db
from jitterscope.audit import service as audit
from jitterscope.errors import Problem
from jitterscope.kit.schema import Page
from jitterscope.settings import settings
from jitterscope.tenancy import members, models, secrets
from jitterscope.tenancy.auth import COOKIE, Principal, require
from jitterscope.tenancy.schemas import (
    Invitation,
    InvitationRequest,
    Member,
    NewInvitation,
    Organization,
    OrganizationChange,
    RoleChange,
)

router = APIRouter(tags=["organizations"])
ReadOrganizations = Annotated[Principal, Depends(require("organizations:read"))]
WriteOrganizations = Annotated[Principal, Depends(require("organizations:write"))]
ReadMembers = Annotated[Principal, Depends(require("members:read"))]
WriteMembers = Annotated[Principal, Depends(require("members:write"))]


@router.get("/organizations/current")
def get_organization(principal: ReadOrganizations) -> Organization:
    """The caller's organization."""
    with db.organization_session(principal.organization_id) as session:
        query = select(models.Organization).where(models.Organization.id == principal.organization_id)
        return Organization.model_validate(session.scalars(query).one())


@router.patch("/organizations/current")
def rename_organization(body: OrganizationChange, principal: WriteOrganizations) -> Organization:
    """Rename the caller's organization."""
    with db.organization_session(principal.organization_id) as session:
        session.execute(
            update(models.Organization)
            .where(models.Organization.id == principal.organization_id)
            .values(name=body.name)
        )
        audit.record(
            session, principal, "organization.rename", f"organization {principal.organization_id}", {"name": body.name}
        )
    return get_organization(principal)


@router.post("/organizations", status_code=201)
def create_organization(body: OrganizationChange, principal: WriteOrganizations, request: Request) -> Organization:
    """A new organization with the caller as its administrator; operators of the installation only."""
    cookie = request.cookies.get(COOKIE, "") if principal.kind == "session" else ""
    with db.system_session() as session:
        created = session.execute(
            text("SELECT auth_create_organization(:hash, :name)"), {"hash": secrets.digest(cookie), "name": body.name}
        ).scalar_one()
    if created is None:
        raise Problem(
            403,
            "operator-needed",
            "Not allowed",
            "Only operators of this installation can create organizations.",
            "Ask an operator of this installation.",
        )
    with db.organization_session(created) as session:
        query = select(models.Organization).where(models.Organization.id == created)
        return Organization.model_validate(session.scalars(query).one())


@router.get("/members")
def list_members(principal: ReadMembers) -> Page[Member]:
    """Everybody in the organization."""
    with db.organization_session(principal.organization_id) as session:
        rows = members.listed(session, principal.organization_id)
    return Page(items=[Member.model_validate(row) for row in rows], next_cursor=None)


@router.patch("/members/{user_id}", status_code=204)
def change_member_role(user_id: int, body: RoleChange, principal: WriteMembers) -> None:
    """Give a member another role."""
    with db.organization_session(principal.organization_id) as session:
        members.change_role(session, principal.organization_id, user_id, body.role)
        audit.record(session, principal, "member.change_role", f"user {user_id}", {"role": body.role})


@router.delete("/members/{user_id}", status_code=204)
def remove_member(user_id: int, principal: WriteMembers) -> None:
    """Remove a member; its sessions here end at once."""
    with db.organization_session(principal.organization_id) as session:
        members.remove(session, principal.organization_id, user_id)
        audit.record(session, principal, "member.remove", f"user {user_id}")


@router.get("/members/invitations")
def list_invitations(principal: WriteMembers) -> Page[Invitation]:
    """Invitations that are still open."""
    with db.organization_session(principal.organization_id) as session:
        found = members.invitations(session, principal.organization_id)
        return Page(items=[Invitation.model_validate(one) for one in found], next_cursor=None)


@router.post("/members/invitations", status_code=201)
def invite_member(body: InvitationRequest, principal: WriteMembers) -> NewInvitation:
    """Invite somebody. The answer has a link to hand over, once; it says nothing about other organizations."""
    with db.organization_session(principal.organization_id) as session:
        invitation, token = members.invite(session, principal.organization_id, body.email, body.role, principal.actor)
        audit.record(session, principal, "member.invite", body.email, {"role": body.role})
        return NewInvitation(
            invitation=Invitation.model_validate(invitation),
            token=token,
            # After #, so that the token reaches no server log.
            accept_url=f"{settings().public_url}/accept#{token}",
        )


@router.delete("/members/invitations/{invitation_id}", status_code=204)
def withdraw_invitation(invitation_id: int, principal: WriteMembers) -> None:
    """Make an invitation useless."""
    with db.organization_session(principal.organization_id) as session:
        members.withdraw(session, principal.organization_id, invitation_id)
        audit.record(session, principal, "member.withdraw_invitation", f"invitation {invitation_id}")
