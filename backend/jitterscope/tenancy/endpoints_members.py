"""organizations and members."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request

from jitterscope import db, mail
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, bounded
from jitterscope.errors import Problem
from jitterscope.kit.declared import audited
from jitterscope.kit.schema import Page
from jitterscope.paging import unpaged
from jitterscope.settings import settings
from jitterscope.tenancy import limits, mail_limits, members, models, secrets
from jitterscope.tenancy.auth import COOKIE, require
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.schemas import (
    Invitation,
    InvitationRequest,
    LimitUse,
    Member,
    NewInvitation,
    Organization,
    OrganizationChange,
    RoleChange,
)
from jitterscope.tenancy.store import organizations

router = APIRouter(tags=["organizations"])
ReadOrganizations = Annotated[Principal, Depends(require("organizations:read"))]
WriteOrganizations = Annotated[Principal, Depends(require("organizations:write"))]
ReadMembers = Annotated[Principal, Depends(require("members:read"))]
WriteMembers = Annotated[Principal, Depends(require("members:write"))]


@router.get("/organizations/current")
@bounded(QUICK)
def get_organization(principal: ReadOrganizations) -> Organization:
    """The caller's organization."""
    with db.organization_session(principal.organization_id) as session:
        return Organization.model_validate(organizations.with_id(session, principal.organization_id))


@router.get("/organizations/current/limits")
@bounded(QUICK)
@unpaged("Limits are code.")
def list_limits(principal: ReadOrganizations) -> list[LimitUse]:
    """The limits of the organization, and how much of each is used. Requests over a limit get 429."""
    return [
        LimitUse(
            name=one.limit.name, title=one.limit.title, unit=one.limit.unit, most=one.limit.most, used=one.used,
            near=one.near,
        )
        for one in limits.use(principal.organization_id)
    ]  # fmt: skip


@router.patch("/organizations/current", dependencies=[audited("organization.rename")])
@bounded(QUICK)
def rename_organization(body: OrganizationChange, principal: WriteOrganizations) -> Organization:
    """Rename the caller's organization."""
    with db.organization_session(principal.organization_id) as session:
        row = organizations.locked(session, principal.organization_id)
        row.name = body.name
        target = f"organization {principal.organization_id}"
        audit.record(session, principal, "organization.rename", target, audit.changes_of(row, ("name",)))
    return get_organization(principal)


@router.post("/organizations", status_code=201, dependencies=[audited("organization.create")])
@bounded(QUICK)
@refuses(403, "The caller is not an operator of the installation.")
def create_organization(body: OrganizationChange, principal: WriteOrganizations, request: Request) -> Organization:
    """Create an organization with the caller as its administrator. Only for operators of the installation."""
    cookie = request.cookies.get(COOKIE, "") if principal.kind == "session" else ""
    with db.system_session() as session:
        created = organizations.create(session, secrets.digest(cookie), body.name)
        if created is not None:
            for organization_id in (principal.organization_id, created):
                db.enter_organization(session, organization_id)
                actor = replace(principal, organization_id=organization_id)
                audit.record(session, actor, "organization.create", f"organization {created}", {"name": body.name})
                session.flush()
    if created is None:
        raise Problem(
            403,
            "operator-needed",
            "Not allowed",
            "Only operators of this installation can create organizations.",
            "Ask an operator of this installation.",
        )
    with db.organization_session(created) as session:
        return Organization.model_validate(organizations.with_id(session, created))


@router.get("/members")
@bounded(QUICK)
@unpaged(f"An organization has at most {members.MOST_MEMBERS:,} members.")
def list_members(principal: ReadMembers) -> Page[Member]:
    """All members of the organization."""
    with db.organization_session(principal.organization_id) as session:
        rows = members.listed(session, principal.organization_id)
    return Page(items=[Member.model_validate(row) for row in rows], next_cursor=None)


@router.patch("/members/{user_id}", status_code=204, dependencies=[audited("member.change_role")])
@bounded(QUICK)
@refuses(403, "A role has rights that the caller lacks.")
@refuses(409, "The member is the last administrator, or owns ingest tokens that the request does not settle.")
def change_member_role(user_id: int, body: RoleChange, principal: WriteMembers) -> None:
    """Change the role of a member. Invitations that they can no longer make end immediately."""
    with db.organization_session(principal.organization_id) as session:
        before, settled, invited = members.change_role(session, principal, user_id, body.role, body.ingest_tokens)
        detail = {"role": {"from": before, "to": body.role}} | _settled(body.ingest_tokens, settled)
        detail |= _ended(invited)
        audit.record(session, principal, "member.change_role", f"user {user_id}", detail)


@router.delete("/members/{user_id}", status_code=204, dependencies=[audited("member.remove")])
@bounded(QUICK)
@refuses(403, "The member's role has rights that the caller lacks.")
@refuses(409, "The member is the last administrator, or owns ingest tokens that the request does not settle.")
def remove_member(
    user_id: int,
    principal: WriteMembers,
    ingest_tokens: Annotated[
        members.IngestTokens | None, Query(description="Required if the member owns ingest tokens")
    ] = None,
) -> None:
    """Remove a member. Their sessions, API tokens, and open invitations here end immediately; their ingest tokens end
    or become yours."""
    with db.organization_session(principal.organization_id) as session:
        removed = members.remove(session, principal, user_id, ingest_tokens)
        detail = {"email": removed.member.email, "role": removed.member.role}
        detail |= _settled(ingest_tokens, removed.settled) | _ended(removed.invitations)
        if removed.tokens:
            detail["tokens_ended"] = ", ".join(token.name for token in removed.tokens)
        audit.record(session, principal, "member.remove", f"user {user_id}", detail)


def _settled(choice: members.IngestTokens | None, settled: list[models.Token]) -> dict[str, Any]:
    return {f"ingest_tokens_{choice}": ", ".join(token.name for token in settled)} if settled else {}


def _ended(invitations: list[models.Invitation]) -> dict[str, Any]:
    return {"invitations_ended": ", ".join(one.email for one in invitations)} if invitations else {}


@router.get("/members/invitations")
@bounded(QUICK)
@unpaged(f"At most {members.MOST_INVITATIONS} are open.")
def list_invitations(principal: WriteMembers) -> Page[Invitation]:
    """Invitations that are still open."""
    with db.organization_session(principal.organization_id) as session:
        found = members.invitations(session, principal.organization_id)
        return Page(items=[Invitation.model_validate(one) for one in found], next_cursor=None)


@router.post("/members/invitations", status_code=201, dependencies=[audited("member.invite")])
@bounded(QUICK)
@refuses(403, "The role has rights that the caller lacks.")
@refuses(409, "The organization has as many members or open invitations as it can have.")
def invite_member(body: InvitationRequest, principal: WriteMembers) -> NewInvitation:
    """Invite a person: by email if this installation sends email, otherwise by a link that is shown once. The
    invitation ends when you are removed or are no longer an administrator, and with the token that made it. The answer
    says nothing about other organizations."""
    members.may_give(principal, body.role)
    mailed = mail.configured()
    if mailed:
        mail_limits.take(principal.organization_id, [body.email])
    with db.organization_session(principal.organization_id) as session:
        invitation, token = members.invite(session, principal, body.email, body.role, mailed=mailed)
        audit.record(session, principal, "member.invite", body.email, {"role": body.role, "mailed": mailed})
        # After #, so that the token reaches no server log.
        link = f"{settings().public_url}/accept#{token}"
        if mailed:
            name = organizations.name_of(session, principal.organization_id)
            # Before the commit: an invitation whose mail was refused must not exist.
            until = f"{invitation.expires_at:%Y-%m-%d %H:%M} UTC"
            letter = _INVITED.format(name=name, link=link, until=until)
            mail.send(body.email, f"Invitation to {name} on Jitterscope", letter)
        return NewInvitation(
            invitation=Invitation.model_validate(invitation),
            token=None if mailed else token,
            accept_url=None if mailed else link,
        )


_INVITED = """You are invited to join {name} on Jitterscope:

{link}

The link works once, until {until}. If you did not expect this email, ignore it.
"""


@router.delete(
    "/members/invitations/{invitation_id}", status_code=204, dependencies=[audited("member.withdraw_invitation")]
)
@bounded(QUICK)
def withdraw_invitation(invitation_id: int, principal: WriteMembers) -> None:
    """Withdraw an invitation."""
    with db.organization_session(principal.organization_id) as session:
        gone = members.withdraw(session, principal.organization_id, invitation_id)
        detail = {"email": gone.email, "role": gone.role, "invited_by": gone.invited_by}
        audit.record(session, principal, "member.withdraw_invitation", f"invitation {invitation_id}", detail)
