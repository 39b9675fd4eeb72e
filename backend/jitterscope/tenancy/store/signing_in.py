"""Passwords and sessions in the database: who is calling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, text
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.tenancy.models import UserSession


def salts(session: Session, email: str, organization_id: int | None) -> list[tuple[int, str]]:
    """(user, salt of the password) of each account with an address; `organization_id`: only its members."""
    query = text("SELECT user_id, salt FROM auth_password_salts(:email, CAST(:organization AS bigint))")
    rows = session.execute(query, {"email": email, "organization": organization_id})
    return [(row.user_id, row.salt) for row in rows]


def organizations_opened(session: Session, user_id: int, password_hash: str) -> list[int | None]:
    """The organizations of an account if that is its password, [None] if it has none; empty for another password."""
    query = text("SELECT organization_id FROM auth_login(:user, :hash)")
    return list(session.execute(query, {"user": user_id, "hash": password_hash}).scalars())


def record_failure(email: str, address: str) -> None:
    """Record a failed attempt in the trail of each organization that the address belongs to."""
    with db.system_session() as session:
        session.execute(
            text("SELECT auth_record_failed_sign_in(:email, :address)"), {"email": email, "address": address}
        )


def set_password(session: Session, user_id: int, old_hash: str, new_hash: str, session_id: int | None) -> bool:
    """Replace a password and end the user's other sessions; False if the old one is another."""
    changed = session.execute(
        text("SELECT auth_set_password(:user, :old, :new, :session)"),
        {"user": user_id, "old": old_hash, "new": new_hash, "session": session_id},
    ).scalar_one()
    return bool(changed)


def of_session(connection: Connection, digest: bytes) -> Row[Any] | None:
    """Whom a session belongs to, and in which organization; None if it is unknown or has ended."""
    return connection.execute(text("SELECT * FROM auth_session(:hash)"), {"hash": digest}).one_or_none()


def organizations_of(digest: bytes) -> Sequence[Row[Any]]:
    """Every organization that a session's user belongs to, with the role."""
    with db.system_session() as session:
        return session.execute(
            text("SELECT organization_id, name, role FROM auth_session_organizations(:hash)"), {"hash": digest}
        ).all()


def end_session(session: Session, session_id: int | None) -> None:
    session.execute(delete(UserSession).where(UserSession.id == session_id))


def expire() -> None:
    """Delete sessions, tokens, invitations, and verifications that have ended."""
    with db.system_session() as session:
        session.execute(text("SELECT auth_expire()"))
