"""Sign-in: the same answer and the same time for an unknown address and a wrong password."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.errors import Problem
from jitterscope.settings import settings
from jitterscope.tenancy import devices, refusals, secrets, sessions
from jitterscope.tenancy.attempts import Bucket, network_of, per_minute


@dataclass(frozen=True, slots=True)
class Login:
    user_id: int
    name: str
    organization_id: int
    cookie: str


def verify(email: str, password: str, organization_id: int | None, address: str) -> tuple[int, str, list[int]]:
    """(user id, name, organization ids in the order of joining). Raises Problem 401, always after an argon2 check.

    An address can have a verified account and others that are local to organizations. The password decides which one;
    if several have the same password, the given organization decides, otherwise the verified account is used.
    """
    found = []
    with db.system_session() as session:
        salts: Sequence[tuple[int, str | None]] = _salts(session, email) or [(0, None)]
        for user_id, salt in salts:
            query = text("SELECT user_id, name, organization_id FROM auth_login(:user, :hash)")
            rows = session.execute(query, {"user": user_id, "hash": secrets.hash_with(salt, password)}).all()
            if rows:
                organizations = [row.organization_id for row in rows if row.organization_id is not None]
                found.append((int(rows[0].user_id), str(rows[0].name), organizations))
    if not found:
        raise Problem(
            401,
            "wrong-credentials",
            "Sign-in failed",
            "The email address or password is incorrect.",
            "Check both, or ask an administrator to reset the password (`jitterscope admin set-password`).",
            afterwards=lambda: refusals.record_failed_sign_in(email, address),
        )
    return next((one for one in found if organization_id in one[2]), found[0])


def password_hash(session: Session, email: str, user_id: int, password: str) -> str:
    """The hash of this password for this user."""
    return secrets.hash_with(dict(_salts(session, email)).get(user_id), password)


def _take_attempt(email: str, network: str, device: str | None) -> Bucket:
    """Count an attempt and return the bucket to reset if it succeeds. Raises Problem 429.

    Unknown clients are limited by account and network together, so that they cannot lock out users elsewhere, and by
    network over all accounts. A browser that has signed in to the account before is limited only by itself.
    """
    limit = settings().login_attempts_per_minute
    if device is not None:
        attempts = per_minute(limit, "sign-in of device", device)
    else:
        per_minute(settings().login_attempts_per_network, "sign-in", network).take("sign-in attempts from your network")
        attempts = per_minute(limit, "sign-in", email, network)
    attempts.take("sign-in attempts")
    return attempts


def _salts(session: Session, email: str) -> list[tuple[int, str]]:
    rows = session.execute(text("SELECT user_id, salt FROM auth_password_salts(:email)"), {"email": email})
    return [(row.user_id, row.salt) for row in rows]


def log_in(
    email: str, password: str, organization_id: int | None, user_agent: str, address: str, device: str = ""
) -> Login:
    """Check the credentials and start a session. Raises Problem 401, 403, or 429."""
    attempts = _take_attempt(email, network_of(address), devices.known(device, email))
    user_id, name, organizations = verify(email, password, organization_id, address)
    attempts.forget()
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
