"""Members of an organization and invitations to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast

from sqlalchemy.orm import Session

from jitterscope.errors import Problem, not_found
from jitterscope.tenancy import secrets, tokens
from jitterscope.tenancy.models import Invitation, Membership, Token
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.scopes import Role, role_allows
from jitterscope.tenancy.store import members as store
from jitterscope.tenancy.store.members import MemberRow as MemberRow
from jitterscope.tenancy.store.members import invitations as invitations
from jitterscope.tenancy.store.members import listed as listed

INVITATION_DAYS = 7
MOST_INVITATIONS = 200
MOST_MEMBERS = 5000
IngestTokens = Literal["take_over", "revoke"]


@dataclass(frozen=True, slots=True)
class Removed:
    """A member who was removed, and what ended with the membership. `settled`: ingest tokens only."""

    member: MemberRow
    tokens: list[Token]
    invitations: list[Invitation]
    settled: list[Token]


def change_role(
    session: Session, principal: Principal, user_id: int, role: Role, ingest_tokens: IngestTokens | None
) -> tuple[Role, list[Token], list[Invitation]]:
    """Change a member's role; returns the previous role, the ingest tokens that were settled, and ended invitations.

    Raises Problem 403, 404, or 409 for the last administrator and for ingest tokens that need a decision.
    """
    may_give(principal, role)
    if role != "admin":
        _keep_an_administrator(session, principal.organization_id, user_id)
    membership = _membership(session, principal, user_id)
    settled = [] if role_allows(role, "collectors:write") else _settle(session, principal, user_id, ingest_tokens)
    # A trigger ends the invitations of an administrator who is none any more.
    ended = [] if role_allows(role, "members:write") else store.invited_by(session, principal.organization_id, user_id)
    before, membership.role = cast(Role, membership.role), role
    return before, settled, ended


def remove(session: Session, principal: Principal, user_id: int, ingest_tokens: IngestTokens | None) -> Removed:
    """End a membership with its sessions, tokens, and open invitations. Raises as `change_role` does."""
    organization_id = principal.organization_id
    _keep_an_administrator(session, organization_id, user_id)
    _membership(session, principal, user_id)
    (removed,) = (one for one in listed(session, organization_id) if one.user_id == user_id)
    settled = _settle(session, principal, user_id, ingest_tokens)
    ended = tokens.owned(session, organization_id, user_id)
    invited = store.invited_by(session, organization_id, user_id)
    session.flush()
    store.remove(session, organization_id, user_id)
    return Removed(removed, ended, invited, settled)


def may_give(principal: Principal, role: Role) -> None:
    """Refuse with 403 a caller that lacks a right of the role: it can neither give nor take the role."""
    if not principal.holds_role(role):
        raise Problem(
            403,
            "role-not-held",
            "Not allowed",
            f"The role {role} has rights that {principal.actor} lacks.",
            f"Ask an administrator, or use credentials that hold everything that the role {role} does.",
        )


def _membership(session: Session, principal: Principal, user_id: int) -> Membership:
    membership = store.locked(session, principal.organization_id, user_id)
    if membership is None:
        raise not_found("member", user_id)
    may_give(principal, cast(Role, membership.role))
    return membership


def _settle(session: Session, principal: Principal, user_id: int, choice: IngestTokens | None) -> list[Token]:
    """Settle the ingest tokens of a member who may no longer own them: revoke them, or let the caller take them over.

    Collectors stop with their token, and anyone who knows a token can send with it: the caller must choose explicitly.
    """
    found = [one for one in tokens.owned(session, principal.organization_id, user_id) if one.kind == "ingest"]
    if not found:
        return []
    if choice == "take_over" and principal.person not in (None, user_id):
        for token in found:
            token.owner_id, token.parent_id = principal.person, None
        return found
    if choice == "revoke":
        tokens.end_all(session, found)
        return found
    names = ", ".join(token.name for token in found[:5])
    raise Problem(
        409,
        "ingest-tokens",
        "Collectors use tokens of this member",
        f"The member owns {len(found)} ingest {'token' if len(found) == 1 else 'tokens'} ({names}). Collectors stop "
        "without them, and anyone who has one can send data with it.",
        "Send `ingest_tokens=take_over` to own them yourself, or `ingest_tokens=revoke` to end them.",
    )


def _keep_an_administrator(session: Session, organization_id: int, leaving: int) -> None:
    # Locked, so that two administrators cannot demote each other at the same moment.
    if list(store.administrators(session, organization_id)) == [leaving]:
        raise Problem(
            409,
            "last-administrator",
            "Last administrator",
            "An organization needs at least one administrator.",
            "Make another member an administrator first.",
        )


def invite(session: Session, principal: Principal, email: str, role: Role, *, mailed: bool) -> tuple[Invitation, str]:
    """A new invitation and its secret. Says nothing about whether the address is known here.

    `mailed`: only the mailbox gets to know the secret, so that who has it has the address. An invitation made with a
    token ends no later than the token. Raises Problem 409 if the organization has too many members or invitations.
    """
    if principal.person is None:
        raise RuntimeError("a caller without a person behind it")
    tokens.hold(session, principal)
    if store.count(session, principal.organization_id) >= MOST_MEMBERS:
        raise Problem(
            409,
            "too-many-members",
            "Too many members",
            f"An organization has at most {MOST_MEMBERS:,} members.",
            "Remove one who has left.",
        )
    if len(invitations(session, principal.organization_id)) >= MOST_INVITATIONS:
        raise Problem(
            409,
            "too-many-invitations",
            "Too many invitations",
            f"An organization has at most {MOST_INVITATIONS} open invitations.",
            "Withdraw one that is not needed.",
        )
    secret = secrets.new_secret()
    expires_at = datetime.now(UTC) + timedelta(days=INVITATION_DAYS)
    invitation = Invitation(
        organization_id=principal.organization_id,
        email=email,
        role=role,
        token_hash=secrets.digest(secret),
        invited_by=principal.actor,
        owner_id=principal.person,
        token_id=principal.token_id,
        mailed=mailed,
        expires_at=expires_at if principal.expires_at is None else min(expires_at, principal.expires_at),
    )
    session.add(invitation)
    session.flush()
    session.refresh(invitation)
    return invitation, secret


def withdraw(session: Session, organization_id: int, invitation_id: int) -> Invitation:
    """Delete an invitation and return it. Raises Problem 404."""
    invitation = store.invitation(session, organization_id, invitation_id)
    if invitation is None:
        raise not_found("invitation", invitation_id)
    session.delete(invitation)
    return invitation
