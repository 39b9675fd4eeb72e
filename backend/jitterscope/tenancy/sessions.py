"""Browser sessions: a random cookie, its hash in the database, an expiry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import delete, text
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.audit import service as audit
from jitterscope.settings import settings
from jitterscope.tenancy import secrets
from jitterscope.tenancy.auth import Principal
from jitterscope.tenancy.models import UserSession


@dataclass(frozen=True, slots=True)
class OrganizationRef:
    id: int
    name: str
    role: str


def start(session: Session, organization_id: int, user_id: int, user_agent: str, address: str) -> str:
    """Start a session; returns its cookie value, which is not stored."""
    cookie = secrets.new_secret()
    session.add(
        UserSession(
            organization_id=organization_id,
            user_id=user_id,
            token_hash=secrets.digest(cookie),
            expires_at=datetime.now(UTC) + timedelta(seconds=settings().session_ttl_s),
            user_agent=user_agent[:300],
            address=address[:64],
        )
    )
    session.flush()
    return cookie


def principal_of(cookie: str) -> Principal | None:
    """The caller that a session cookie stands for; None if it is unknown or has ended."""
    with db.lookup_connection() as connection:
        found = connection.execute(text("SELECT * FROM auth_session(:hash)"), {"hash": secrets.digest(cookie)})
        row = found.one_or_none()
    if row is None:
        return None
    return Principal(
        organization_id=row.organization_id,
        kind="session",
        actor=row.name,
        user_id=row.user_id,
        session_id=row.session_id,
        role=row.role,
    )


def organizations_of(cookie: str) -> list[OrganizationRef]:
    """Every organization that the session's user belongs to."""
    with db.system_session() as session:
        rows = session.execute(
            text("SELECT organization_id, name, role FROM auth_session_organizations(:hash)"),
            {"hash": secrets.digest(cookie)},
        )
        return [OrganizationRef(row.organization_id, row.name, row.role) for row in rows]


def end(principal: Principal, why: str) -> None:
    """Sign out: delete the session's row."""
    with db.organization_session(principal.organization_id) as session:
        audit.record(session, principal, "session.end", f"user {principal.user_id}", {"reason": why})
        session.execute(delete(UserSession).where(UserSession.id == principal.session_id))
