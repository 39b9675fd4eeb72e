"""What the owner of the schema writes for all organizations: the first ones, their users, lost passwords."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.orm import Session


def verified_user(session: Session, email: str) -> tuple[int, int] | None:
    """(first organization, user) of the account with a verified address."""
    known = session.execute(
        text(
            "SELECT u.id, m.organization_id FROM users u JOIN memberships m ON m.user_id = u.id "
            "WHERE u.email = lower(:email) AND u.verified_at IS NOT NULL ORDER BY m.id LIMIT 1"
        ),
        {"email": email},
    ).one_or_none()
    return None if known is None else (known.organization_id, known.id)


def add_organization(session: Session, name: str) -> int:
    query = text("INSERT INTO organizations (name) VALUES (:name) RETURNING id")
    return int(session.execute(query, {"name": name}).scalar_one())


def add_user(session: Session, email: str, password_hash: str, *, operator: bool) -> int:
    """An account whose address counts as verified."""
    query = text(
        "INSERT INTO users (email, name, password_hash, is_operator, verified_at) "
        "VALUES (lower(:email), :name, :hash, :operator, now()) RETURNING id"
    )
    values = {"email": email, "name": email.partition("@")[0], "hash": password_hash, "operator": operator}
    return int(session.execute(query, values).scalar_one())


def add_administrator(session: Session, organization_id: int, user_id: int) -> None:
    session.execute(
        text("INSERT INTO memberships (organization_id, user_id, role) VALUES (:organization, :user, 'admin')"),
        {"organization": organization_id, "user": user_id},
    )


def lock_tokens(session: Session, organization_id: int) -> None:
    """Wait until no other set-up adds a token to the organization; held until the end of the transaction."""
    session.execute(text("SELECT pg_advisory_xact_lock(:organization)"), {"organization": organization_id})


def has_token(session: Session, digest: bytes) -> bool:
    """Whether a token with this secret exists, valid or not."""
    return bool(session.execute(text("SELECT 1 FROM tokens WHERE token_hash = :hash"), {"hash": digest}).scalar())


def first_administrator(session: Session, organization_id: int) -> int:
    """The user who owns what the installation creates for an organization."""
    query = text(
        "SELECT user_id FROM memberships WHERE organization_id = :organization AND role = 'admin' ORDER BY id LIMIT 1"
    )
    return int(session.execute(query, {"organization": organization_id}).scalar_one())


def users(session: Session, email: str, organization_id: int | None) -> Sequence[int]:
    """Accounts with an address; `organization_id`: only its members."""
    query = text(
        "SELECT u.id FROM users u WHERE u.email = lower(:email) AND (CAST(:organization AS bigint) IS NULL "
        "OR EXISTS (SELECT FROM memberships m WHERE m.user_id = u.id AND m.organization_id = :organization))"
    )
    return session.execute(query, {"email": email, "organization": organization_id}).scalars().all()


def set_password(session: Session, user_id: int, password_hash: str) -> None:
    """Replace a password and end the user's sessions."""
    session.execute(
        text("UPDATE users SET password_hash = :hash WHERE id = :user"), {"hash": password_hash, "user": user_id}
    )
    session.execute(text("DELETE FROM sessions WHERE user_id = :user"), {"user": user_id})
