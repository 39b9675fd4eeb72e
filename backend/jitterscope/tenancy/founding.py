"""Makes the first organization and its administrator, as the schema's owner (there is nobody to ask yet)."""

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
    """An organization with one administrator. Where the e-mail address exists, it is found, not changed."""
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            known = session.execute(
                text(
                    "SELECT u.id, m.organization_id FROM users u JOIN memberships m ON m.user_id = u.id "
                    "WHERE u.email = lower(:email) ORDER BY m.id LIMIT 1"
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
                    "INSERT INTO users (email, name, password_hash, is_operator) "
                    "VALUES (lower(:email), :name, :hash, :operator) RETURNING id"
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
    """A token of an organization; returns its secret."""
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            return tokens.create(session, organization_id, kind, name, scopes, "setup")[1]
    finally:
        engine.dispose()


def accept_token(owner_url: str, organization_id: int, secret: str, name: str) -> bool:
    """Make an ingest token with a secret that was chosen elsewhere; False where it was known, or revoked, before.

    Raises ValueError where the secret is not as hard to guess as those that are made here.
    """
    if not (secret.startswith(INGEST_PREFIX) and _MIN_SECRET_LENGTH <= len(secret) <= tokens.MAX_SECRET_LENGTH):
        needed = _MIN_SECRET_LENGTH - len(INGEST_PREFIX)
        raise ValueError(f"must be {INGEST_PREFIX} and at least {needed} random characters")
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            # Two set-ups at once: the second waits here, then finds the token.
            session.execute(text("SELECT pg_advisory_xact_lock(:organization)"), {"organization": organization_id})
            known = session.execute(
                text("SELECT 1 FROM tokens WHERE token_hash = :hash"), {"hash": secrets.digest(secret)}
            ).scalar()
            if not known:
                tokens.create(session, organization_id, "ingest", name, (), "setup", secret=secret)
            return not known
    finally:
        engine.dispose()


def set_password(owner_url: str, email: str, password: str) -> bool:
    """Reset a forgotten password and end the user's sessions; False where there is no such user."""
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            user = session.execute(
                text("UPDATE users SET password_hash = :hash WHERE email = lower(:email) RETURNING id"),
                {"hash": secrets.hash_password(password), "email": email},
            ).scalar_one_or_none()
            session.execute(text("DELETE FROM sessions WHERE user_id = :user"), {"user": user})
            return user is not None
    finally:
        engine.dispose()
