"""Signing in: the same answer and the same time for an unknown address and a wrong password."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import cache, db
from jitterscope.errors import Problem
from jitterscope.settings import settings
from jitterscope.tenancy import secrets, sessions

_WINDOW_S = 60


@dataclass(frozen=True, slots=True)
class Login:
    user_id: int
    name: str
    organization_id: int
    cookie: str


def limit_attempts(kind: str, *keys: str) -> None:
    """Refuse with 429 when any of the keys (address of the caller, account) was tried too often within a minute."""
    client = cache.valkey()
    for key in keys:
        name = f"jitterscope:attempts:{kind}:{hashlib.sha256(key.encode()).hexdigest()[:32]}"
        pipeline = client.pipeline()
        pipeline.incr(name)
        pipeline.expire(name, _WINDOW_S, nx=True)
        pipeline.ttl(name)
        count, _, remaining = pipeline.execute()
        if int(count) > settings().login_attempts_per_minute:
            wait_s = max(int(remaining), 1)
            raise Problem(
                429,
                "too-many-attempts",
                "Too many attempts",
                "Too many sign-in attempts.",
                f"Wait {wait_s} s, then try again.",
                headers={"Retry-After": str(wait_s)},
            )


def verify(email: str, password: str) -> tuple[int, str, list[int]]:
    """(user id, name, organization ids in the order of joining). Raises Problem 401, always after one argon2 check."""
    with db.system_session() as session:
        rows = session.execute(
            text("SELECT user_id, name, organization_id FROM auth_login(:email, :hash)"),
            {"email": email, "hash": password_hash(session, email, password)},
        ).all()
    if not rows:
        raise Problem(
            401,
            "wrong-credentials",
            "Sign-in failed",
            "The email address or password is incorrect.",
            "Check both, or ask an administrator to reset the password (`jitterscope admin set-password`).",
        )
    return rows[0].user_id, rows[0].name, [row.organization_id for row in rows if row.organization_id is not None]


def password_hash(session: Session, email: str, password: str) -> str:
    """The hash that this password has for this user; for an unknown one some hash, after the same time."""
    salt = session.execute(text("SELECT auth_password_salt(:email)"), {"email": email}).scalar_one()
    return secrets.hash_with(salt, password)


def log_in(email: str, password: str, organization_id: int | None, user_agent: str, address: str) -> Login:
    """Check the credentials and start a session. Raises Problem 401, 403 or 429."""
    limit_attempts("login", f"address {address}", f"account {email}")
    user_id, name, organizations = verify(email, password)
    if organization_id is None and organizations:
        organization_id = organizations[0]
    if organization_id is None or organization_id not in organizations:
        raise Problem(
            403,
            "not-a-member",
            "Not a member",
            "You are not a member of this organization.",
            "Ask one of its administrators for an invitation.",
        )
    with db.organization_session(organization_id) as session:
        cookie = sessions.start(session, organization_id, user_id, user_agent, address)
    return Login(user_id, name, organization_id, cookie)
