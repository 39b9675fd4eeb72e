"""Makes the first organization and its administrator, as the schema's owner (there is nobody to ask yet)."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.tenancy import secrets, tokens


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
