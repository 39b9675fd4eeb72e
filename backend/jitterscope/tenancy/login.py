"""Sign-in: the same answer and the same time for an unknown address and a wrong password."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.errors import Problem
from jitterscope.kit.networks import network_of
from jitterscope.settings import settings
from jitterscope.tenancy import devices, refusals, secrets, sessions
from jitterscope.tenancy.attempts import Bucket, per_minute
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.store import signing_in


@dataclass(frozen=True, slots=True)
class Login:
    principal: Principal
    cookie: str


@dataclass(frozen=True, slots=True)
class _Account:
    """One account of an address; user id 0 and no salt if the address has none. `attempts` counts its sign-ins."""

    user_id: int
    salt: str | None
    attempts: Bucket


@dataclass(frozen=True, slots=True)
class _Accounts:
    """Those of an address whose password may be tried now, and why others may not."""

    tried: list[_Account]
    refusal: Problem | None


@dataclass(frozen=True, slots=True)
class _Verified:
    user_id: int
    organizations: list[int]  # in the order of joining


def password_hash(session: Session, email: str, user_id: int, organization_id: int, password: str) -> str:
    """The hash of this password for this member of an organization."""
    return secrets.hash_with(dict(signing_in.salts(session, email, organization_id)).get(user_id), password)


def _accounts(email: str, organization_id: int | None, network: str, device: str) -> _Accounts:
    """Count an attempt for each account of an address.

    Strangers are limited by account and network together, so that they cannot lock out users elsewhere, and by network
    over all accounts. A browser that has signed in to an account before is limited only by itself, and only for that
    account: an account of the same address in another organization opens no way around the limits.
    """
    with db.system_session() as session:
        salts: Sequence[tuple[int, str | None]] = signing_in.salts(session, email, organization_id) or [(0, None)]
    limit = settings().login_attempts_per_minute
    known = {user_id: devices.known(device, user_id) for user_id, _ in salts}
    of_network = per_minute(settings().login_attempts_per_network, "sign-in", network)
    strangers_fit = all(known.values()) or of_network.fits()
    refusal = None if strangers_fit else of_network.refusal("sign-in attempts from your network")
    tried = []
    for user_id, salt in salts:
        if known[user_id] is not None:
            attempts = per_minute(limit, "sign-in of device", str(known[user_id]), str(user_id))
        elif strangers_fit:
            attempts = per_minute(limit, "sign-in", str(user_id) if user_id else email, network)
        else:
            continue
        if attempts.fits():
            tried.append(_Account(user_id, salt, attempts))
        else:
            refusal = attempts.refusal("sign-in attempts")
    return _Accounts(tried, refusal)


def _verify(email: str, password: str, organization_id: int | None, address: str, accounts: _Accounts) -> _Verified:
    """Which account the password opens. Raises Problem 401, always after an argon2 check, and 429.

    An address can have a verified account and others that are local to organizations. The password decides which one;
    if several have the same password, the given organization decides, otherwise the verified account is used.
    """
    found = []
    with db.system_session() as session:
        for account in accounts.tried:
            hashed = secrets.hash_with(account.salt, password)
            opened = signing_in.organizations_opened(session, account.user_id, hashed)
            if opened:
                organizations = [one for one in opened if one is not None]
                found.append((account, _Verified(account.user_id, organizations)))
    if not found and accounts.refusal is not None:
        raise accounts.refusal
    if not found:
        raise Problem(
            401,
            "wrong-credentials",
            "Sign-in failed",
            "The email address or password is incorrect.",
            "Check both, or ask an administrator to reset the password (`jitterscope admin set-password`).",
            afterwards=lambda: refusals.record_failed_sign_in(email, address),
        )
    account, verified = next((one for one in found if organization_id in one[1].organizations), found[0])
    # Only this account's: the password was wrong for the others of the address.
    account.attempts.forget()
    return verified


def log_in(
    email: str, password: str, organization_id: int | None, user_agent: str, address: str, device: str = ""
) -> Login:
    """Check the credentials and start a session. Raises Problem 401, 403, or 429."""
    accounts = _accounts(email, organization_id, network_of(address), device)
    verified = _verify(email, password, organization_id, address, accounts)
    if organization_id is None and verified.organizations:
        organization_id = verified.organizations[0]
    if organization_id is None or organization_id not in verified.organizations:
        raise Problem(
            403,
            "not-a-member",
            "Not a member",
            "You are not a member of this organization.",
            "Ask one of its administrators for an invitation.",
        )
    with db.organization_session(organization_id) as session:
        cookie, principal = sessions.begin(session, organization_id, verified.user_id, user_agent, address)
    return Login(principal, cookie)
