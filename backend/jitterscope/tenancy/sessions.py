"""Browser sessions: a random cookie, its hash in the database, an expiry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.audit import service as audit
from jitterscope.settings import settings
from jitterscope.tenancy import secrets
from jitterscope.tenancy.models import UserSession
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.store import signing_in


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


def begin(session: Session, organization_id: int, user_id: int, user_agent: str, address: str) -> tuple[str, Principal]:
    """Start a session and record it, in one transaction; returns its cookie value and the caller that it stands for."""
    cookie = start(session, organization_id, user_id, user_agent, address)
    principal = started(session, cookie)
    audit.record(session, principal, "session.start", f"user {user_id}", {"address": address})
    return cookie, principal


def started(session: Session, cookie: str) -> Principal:
    """The caller of a session that this transaction has started."""
    principal = _principal(session.connection(), cookie)
    if principal is None:
        raise RuntimeError("a session that was just started is not there")
    return principal


def principal_of(cookie: str) -> Principal | None:
    """The caller that a session cookie stands for; None if it is unknown or has ended."""
    with db.lookup_connection() as connection:
        return _principal(connection, cookie)


def _principal(connection: Connection, cookie: str) -> Principal | None:
    row = signing_in.of_session(connection, secrets.digest(cookie))
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
    rows = signing_in.organizations_of(secrets.digest(cookie))
    return [OrganizationRef(row.organization_id, row.name, row.role) for row in rows]


def end(principal: Principal, why: str) -> None:
    """Sign out: delete the session's row."""
    with db.organization_session(principal.organization_id) as session:
        end_within(session, principal, why)


def end_within(session: Session, principal: Principal, why: str) -> None:
    """As `end`, in a transaction that may have begun in another organization; the rest of it is in this one."""
    session.flush()
    db.enter_organization(session, principal.organization_id)
    audit.record(session, principal, "session.end", f"user {principal.user_id}", {"reason": why})
    signing_in.end_session(session, principal.session_id)
