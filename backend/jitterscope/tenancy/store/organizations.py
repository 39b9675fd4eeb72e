"""Organizations and their users in the database."""

from __future__ import annotations

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from jitterscope.tenancy.models import Organization, User


def with_id(session: Session, organization_id: int) -> Organization:
    return session.scalars(select(Organization).where(Organization.id == organization_id)).one()


def locked(session: Session, organization_id: int) -> Organization:
    return session.scalars(select(Organization).where(Organization.id == organization_id).with_for_update()).one()


def name_of(session: Session, organization_id: int) -> str:
    return session.scalars(select(Organization.name).where(Organization.id == organization_id)).one()


def create(session: Session, session_digest: bytes, name: str) -> int | None:
    """An organization that the user of a session administers; None if the user may not create any."""
    created: int | None = session.execute(
        text("SELECT auth_create_organization(:hash, :name)"), {"hash": session_digest, "name": name}
    ).scalar_one()
    return created


def user(session: Session, user_id: int) -> User | None:
    return session.scalars(select(User).where(User.id == user_id)).one_or_none()


def email_of(session: Session, user_id: int | None) -> str:
    return session.scalars(select(User.email).where(User.id == user_id)).one()
