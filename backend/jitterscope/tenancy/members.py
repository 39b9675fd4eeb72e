"""Members of an organization and invitations to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.errors import Problem, not_found
from jitterscope.tenancy import login, secrets
from jitterscope.tenancy.models import Invitation, Membership, User, UserSession
from jitterscope.tenancy.scopes import Role

INVITATION_DAYS = 7


@dataclass(frozen=True, slots=True)
class MemberRow:
    user_id: int
    email: str
    name: str
    role: Role
    joined_at: datetime


def listed(session: Session, organization_id: int) -> list[MemberRow]:
    """All members in the order of joining."""
    rows = session.execute(
        select(User.id, User.email, User.name, Membership.role, Membership.created_at)
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.organization_id == organization_id)
        .order_by(Membership.id)
    )
    return [MemberRow(user, email, name, cast(Role, role), joined) for user, email, name, role, joined in rows]


def change_role(session: Session, organization_id: int, user_id: int, role: Role) -> None:
    """Raises Problem 404, or 409 for the last administrator."""
    if role != "admin":
        _keep_an_administrator(session, organization_id, user_id)
    changed = session.execute(
        update(Membership)
        .where(Membership.organization_id == organization_id, Membership.user_id == user_id)
        .values(role=role)
        .returning(Membership.id)
    ).scalar_one_or_none()
    if changed is None:
        raise not_found("member", user_id)


def remove(session: Session, organization_id: int, user_id: int) -> None:
    """End the membership and the sessions in it. Raises Problem 404, or 409 for the last administrator."""
    _keep_an_administrator(session, organization_id, user_id)
    removed = session.execute(
        delete(Membership)
        .where(Membership.organization_id == organization_id, Membership.user_id == user_id)
        .returning(Membership.id)
    ).scalar_one_or_none()
    if removed is None:
        raise not_found("member", user_id)
    session.execute(
        delete(UserSession).where(UserSession.organization_id == organization_id, UserSession.user_id == user_id)
    )


def _keep_an_administrator(session: Session, organization_id: int, leaving: int) -> None:
    # Locked, so that two administrators cannot demote each other at the same moment.
    administrators = session.scalars(
        select(Membership.user_id)
        .where(Membership.organization_id == organization_id, Membership.role == "admin")
        .with_for_update()
    ).all()
    if list(administrators) == [leaving]:
        raise Problem(
            409,
            "last-administrator",
            "Last administrator",
            "An organization needs at least one administrator.",
            "Make another member an administrator first.",
        )


def invite(session: Session, organization_id: int, email: str, role: Role, invited_by: str) -> tuple[Invitation, str]:
    """A new invitation and its secret. Says nothing about whether the address is known here."""
    secret = secrets.new_secret()
    invitation = Invitation(
        organization_id=organization_id,
        email=email,
        role=role,
        token_hash=secrets.digest(secret),
        invited_by=invited_by,
        expires_at=datetime.now(UTC) + timedelta(days=INVITATION_DAYS),
    )
    session.add(invitation)
    session.flush()
    session.refresh(invitation)
    return invitation, secret


def invitations(session: Session, organization_id: int) -> list[Invitation]:
    """Open invitations, newest first."""
    query = select(Invitation).where(
        Invitation.organization_id == organization_id,
        Invitation.accepted_at.is_(None),
        Invitation.expires_at > func.now(),
    )
    return list(session.scalars(query.order_by(Invitation.id.desc())))


def withdraw(session: Session, organization_id: int, invitation_id: int) -> None:
    """Delete an invitation. Raises Problem 404."""
    gone = session.execute(
        delete(Invitation)
        .where(Invitation.organization_id == organization_id, Invitation.id == invitation_id)
        .returning(Invitation.id)
    ).scalar_one_or_none()
    if gone is None:
        raise not_found("invitation", invitation_id)


def accept(token: str, name: str, password: str, address: str) -> tuple[int, str]:
    """Join; (organization id, e-mail address). A new user is made with the password; a known one must give its own."""
    login.limit_attempts("accept", f"address {address}")
    digest = secrets.digest(token)
    with db.system_session() as session:
        found = session.execute(text("SELECT * FROM auth_invitation(:hash)"), {"hash": digest}).one_or_none()
    if found is None:
        raise Problem(
            404,
            "invitation-not-found",
            "Invitation not found",
            "It is unknown, expired or already used.",
            "Ask for a new invitation.",
        )
    if found.known:
        login.verify(found.email, password)
    with db.system_session() as session:
        joined = session.execute(
            text("SELECT auth_accept_invitation(:hash, :name, :password)"),
            {"hash": digest, "name": name, "password": secrets.hash_password(password)},
        ).scalar_one()
    if joined is None:
        raise Problem(409, "invitation-used", "Invitation used", "This invitation was just used.", "Sign in.")
    return found.organization_id, found.email
