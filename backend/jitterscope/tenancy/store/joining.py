"""Invitations that are accepted and addresses that are verified, in the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from jitterscope import db


def invitation(digest: bytes) -> Row[Any] | None:
    """The open invitation with a secret, of any organization."""
    with db.system_session() as session:
        return session.execute(text("SELECT * FROM auth_invitation(:hash)"), {"hash": digest}).one_or_none()


def accept(session: Session, digest: bytes, session_digest: bytes | None, name: str, password_hash: str) -> int | None:
    """Make the invited a member; returns the user, None if the invitation cannot be used."""
    joined: int | None = session.execute(
        text("SELECT auth_accept_invitation(:hash, :session, :name, :password)"),
        {"hash": digest, "session": session_digest, "name": name, "password": password_hash},
    ).scalar_one()
    return joined


def start_verification(session: Session, session_digest: bytes, digest: bytes) -> str | None:
    """Keep the secret that verifies the address of a session's account; the address, None if it is verified."""
    email: str | None = session.execute(
        text("SELECT auth_start_verification(:session, :token)"), {"session": session_digest, "token": digest}
    ).scalar_one()
    return email


def verify_email(session: Session, session_digest: bytes, digest: bytes) -> str:
    """Verify the address of a session's account: "unknown" or "taken" if that is not possible."""
    result: str = session.execute(
        text("SELECT auth_verify_email(:session, :token)"), {"session": session_digest, "token": digest}
    ).scalar_one()
    return result
