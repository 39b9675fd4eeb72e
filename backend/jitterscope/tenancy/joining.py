"""Accepts invitations and verifies addresses. Changes are made in the caller's transaction, which also records them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from sqlalchemy.orm import Session

from jitterscope.errors import Problem
from jitterscope.tenancy import secrets
from jitterscope.tenancy.scopes import Role
from jitterscope.tenancy.store import joining as store


@dataclass(frozen=True, slots=True)
class Invited:
    """What an invitation tells the holder of its link. `known`: the invited address has a verified account."""

    organization_id: int
    organization_name: str
    email: str
    role: Role
    known: bool


def invitation(token: str) -> Invited:
    """The open invitation of a link. Raises Problem 404."""
    found = store.invitation(secrets.digest(token))
    if found is None:
        raise Problem(
            404,
            "invitation-not-found",
            "Invitation not found",
            "It is unknown, expired, already used, or ended with its inviter's rights.",
            "Ask for a new invitation.",
        )
    return Invited(found.organization_id, found.organization_name, found.email, cast(Role, found.role), found.known)


def accept_as_new(session: Session, invited: Invited, token: str, name: str, password: str) -> int:
    """Join with a new account and return its user id. No other account's password is checked: none can be guessed."""
    if invited.known:
        raise Problem(
            409,
            "sign-in-needed",
            "Sign in first",
            f"{invited.email} already has an account.",
            "Sign in with it, then open the link of the invitation again.",
        )
    return _accept(session, token, None, name, secrets.hash_password(password))


def accept_as(session: Session, invited: Invited, token: str, cookie: str, email: str) -> int:
    """Join with the account of a session and return its user id."""
    if email != invited.email:
        raise Problem(
            409,
            "other-address",
            "Invitation for another address",
            f"The invitation is for {invited.email}, and you are signed in as {email}.",
            "Sign out and open the link again, or ask for an invitation to your address.",
        )
    return _accept(session, token, secrets.digest(cookie), "", "")


def _accept(session: Session, token: str, session_hash: bytes | None, name: str, password_hash: str) -> int:
    joined = store.accept(session, secrets.digest(token), session_hash, name, password_hash)
    if joined is None:
        raise Problem(
            409,
            "already-a-member",
            "Already a member",
            "The invitation was just used, or the address is a member of the organization already.",
            "Sign in. An administrator of the organization can change your role.",
        )
    return joined


def start_verification(session: Session, cookie: str) -> tuple[str, str] | None:
    """(address, secret for the link) of the session's account; None if its address is already verified."""
    secret = secrets.new_secret()
    email = store.start_verification(session, secrets.digest(cookie), secrets.digest(secret))
    return None if email is None else (email, secret)


def verify_email(session: Session, cookie: str, token: str) -> None:
    """Verify the address of the session's account with the secret that was mailed to it. Raises Problem 404, 409."""
    result = store.verify_email(session, secrets.digest(cookie), secrets.digest(token))
    if result == "unknown":
        raise Problem(
            404,
            "verification-not-found",
            "Link not valid",
            "The link is unknown, expired, already used, or was sent to another account.",
            "Sign in as the person who asked for it, or send a new link from Settings, Your account.",
        )
    if result == "taken":
        raise Problem(
            409,
            "address-taken",
            "Address already verified",
            "Another account has verified this address.",
            "Sign in with that account, and ask for an invitation to this organization.",
        )
