"""Members of organizations and their invitations in the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from jitterscope.tenancy.models import Invitation, Membership, User, UserSession
from jitterscope.tenancy.scopes import Role


@dataclass(frozen=True, slots=True)
class MemberRow:
    user_id: int
    email: str
    name: str
    role: Role
    joined_at: datetime
    email_verified: bool


def listed(session: Session, organization_id: int) -> list[MemberRow]:
    """All members in the order of joining."""
    rows = session.execute(
        select(User.id, User.email, User.name, Membership.role, Membership.created_at, User.verified_at.is_not(None))
        .join(Membership, Membership.user_id == User.id)
        .where(Membership.organization_id == organization_id)
        .order_by(Membership.id)
    )
    return [MemberRow(row[0], row[1], row[2], cast(Role, row[3]), row[4], row[5]) for row in rows]


def invited_by(session: Session, organization_id: int, user_id: int) -> list[Invitation]:
    query = select(Invitation).where(Invitation.organization_id == organization_id, Invitation.owner_id == user_id)
    return list(session.scalars(query.where(Invitation.accepted_at.is_(None)).order_by(Invitation.id)))


def invitations(session: Session, organization_id: int) -> list[Invitation]:
    """Open invitations, newest first."""
    query = select(Invitation).where(
        Invitation.organization_id == organization_id,
        Invitation.accepted_at.is_(None),
        Invitation.expires_at > func.now(),
    )
    return list(session.scalars(query.order_by(Invitation.id.desc())))


def count(session: Session, organization_id: int) -> int:
    return session.scalar(select(func.count()).where(Membership.organization_id == organization_id)) or 0


def locked(session: Session, organization_id: int, user_id: int) -> Membership | None:
    """One membership, locked."""
    query = select(Membership).where(Membership.organization_id == organization_id, Membership.user_id == user_id)
    return session.scalars(query.with_for_update()).one_or_none()


def administrators(session: Session, organization_id: int) -> Sequence[int]:
    """The users who administer an organization, locked."""
    return session.scalars(
        select(Membership.user_id)
        .where(Membership.organization_id == organization_id, Membership.role == "admin")
        .with_for_update()
    ).all()


def remove(session: Session, organization_id: int, user_id: int) -> None:
    """End a membership and its sessions. Triggers end the tokens and invitations of a deleted membership."""
    session.execute(
        delete(Membership).where(Membership.organization_id == organization_id, Membership.user_id == user_id)
    )
    session.execute(
        delete(UserSession).where(UserSession.organization_id == organization_id, UserSession.user_id == user_id)
    )


def invitation(session: Session, organization_id: int, invitation_id: int) -> Invitation | None:
    """One invitation, locked."""
    query = select(Invitation).where(Invitation.organization_id == organization_id, Invitation.id == invitation_id)
    return session.scalars(query.with_for_update()).one_or_none()
