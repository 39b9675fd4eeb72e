"""Creates the first organization and its administrator, as the schema's owner, before there are any users."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.tenancy import secrets, tokens
from jitterscope.tenancy.auth import INGEST_PREFIX

_MIN_SECRET_LENGTH = len(INGEST_PREFIX) + 32


@dataclass(frozen=True, slots=True)
class Founded:
    organization_id: int
    user_id: int
    created: bool


def found_organization(owner_url: str, name: str, email: str, password: str, *, operator: bool = False) -> Founded:
    """An organization with one administrator, whose address the caller vouches for.

    An existing account with that verified address is found and left unchanged.
    """
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            known = session.execute(
                text(
                    "SELECT u.id, m.organization_id FROM users u JOIN memberships m ON m.user_id = u.id "
                    "WHERE u.email = lower(:email) AND u.verified_at IS NOT NULL ORDER BY m.id LIMIT 1"
                ),
                {"email": email},
            ).one_or_none()
            if known is not None:
                return Founded(known.organization_id, known.id, created=False)
            organization = session.execute(
                text("INSERT INTO organizations (name) VALUES (:name) RETURNING id"), {"name": name}
            ).scalar_one()
            user = session.execute(
                text(
                    "INSERT INTO users (email, name, password_hash, is_operator, verified_at) "
                    "VALUES (lower(:email), :name, :hash, :operator, now()) RETURNING id"
                ),
                {
                    "email": email,
                    "name": email.partition("@")[0],
                    "hash": secrets.hash_password(password),
                    "operator": operator,
                },
            ).scalar_one()
            session.execute(
                text("INSERT INTO memberships (organization_id, user_id, role) VALUES (:organization, :user, 'admin')"),
                {"organization": organization, "user": user},
            )
            return Founded(organization, user, created=True)
    finally:
        engine.dispose()


def make_token(owner_url: str, organization_id: int, kind: tokens.Kind, name: str, scopes: tuple[str, ...] = ()) -> str:
    """Create a token of an organization; returns its secret."""
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            owner = _first_administrator(session, organization_id)
            return tokens.create(session, organization_id, kind, name, scopes, "setup", owner)[1]
    finally:
        engine.dispose()


def accept_token(owner_url: str, organization_id: int, secret: str, name: str) -> bool:
    """Create an ingest token with a secret that was chosen elsewhere; False if it was already known, or revoked.

    Raises ValueError if the secret is easier to guess than those created here.
    """
    if not (secret.startswith(INGEST_PREFIX) and _MIN_SECRET_LENGTH <= len(secret) <= tokens.MAX_SECRET_LENGTH):
        needed = _MIN_SECRET_LENGTH - len(INGEST_PREFIX)
        raise ValueError(f"must be {INGEST_PREFIX} and at least {needed} random characters")
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            # Concurrent set-ups: the second waits here, then finds the token.
            session.execute(text("SELECT pg_advisory_xact_lock(:organization)"), {"organization": organization_id})
            known = session.execute(
                text("SELECT 1 FROM tokens WHERE token_hash = :hash"), {"hash": secrets.digest(secret)}
            ).scalar()
            if not known:
                owner = _first_administrator(session, organization_id)
                tokens.create(session, organization_id, "ingest", name, (), "setup", owner, secret=secret)
            return not known
    finally:
        engine.dispose()


def _first_administrator(session: Session, organization_id: int) -> int:
    """The user who owns what the installation creates for an organization."""
    query = text(
        "SELECT user_id FROM memberships WHERE organization_id = :organization AND role = 'admin' ORDER BY id LIMIT 1"
    )
    return int(session.execute(query, {"organization": organization_id}).scalar_one())


class SeveralAccounts(ValueError):
    """An address has local accounts in several organizations."""


def set_password(owner_url: str, email: str, password: str, organization_id: int | None = None) -> bool:
    """Reset a forgotten password and end the user's sessions; False if there is no such user.

    `organization_id`: an organization that the account is a member of. Raises SeveralAccounts if it is needed.
    """
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            query = text(
                "SELECT u.id FROM users u WHERE u.email = lower(:email) AND (CAST(:organization AS bigint) IS NULL "
                "OR EXISTS (SELECT FROM memberships m WHERE m.user_id = u.id AND m.organization_id = :organization))"
            )
            users = session.execute(query, {"email": email, "organization": organization_id}).scalars().all()
            if len(users) > 1:
                raise SeveralAccounts(f"{len(users)} accounts have the address {email}")
            for user in users:
                session.execute(
                    text("UPDATE users SET password_hash = :hash WHERE id = :user"),
                    {"hash": secrets.hash_password(password), "user": user},
                )
                session.execute(text("DELETE FROM sessions WHERE user_id = :user"), {"user": user})
            return bool(users)
    finally:
        engine.dispose()
