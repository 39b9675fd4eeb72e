"""Creates the first organization and its administrator, as the schema's owner, before there are any users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.tenancy import secrets, tokens
from jitterscope.tenancy.store import founding as store
from jitterscope.tenancy.tokens import INGEST_PREFIX

_MIN_SECRET_LENGTH = len(INGEST_PREFIX) + 32


@dataclass(frozen=True, slots=True)
class Founded:
    organization_id: int
    user_id: int
    created: bool


@contextmanager
def as_owner(owner_url: str) -> Iterator[Session]:
    """One transaction as the schema's owner, whom row-level security does not restrict."""
    engine = db.make_engine(owner_url, pool_size=1)
    try:
        with Session(engine) as session, session.begin():
            yield session
    finally:
        engine.dispose()


def found_organization(owner_url: str, name: str, email: str, password: str, *, operator: bool = False) -> Founded:
    """An organization with one administrator, whose address the caller vouches for.

    An existing account with that verified address is found and left unchanged.
    """
    with as_owner(owner_url) as session:
        known = store.verified_user(session, email)
        if known is not None:
            return Founded(*known, created=False)
        organization = store.add_organization(session, name)
        user = store.add_user(session, email, secrets.hash_password(password), operator=operator)
        store.add_administrator(session, organization, user)
        return Founded(organization, user, created=True)


def make_token(owner_url: str, organization_id: int, kind: tokens.Kind, name: str, scopes: tuple[str, ...] = ()) -> str:
    """Create a token of an organization; returns its secret."""
    with as_owner(owner_url) as session:
        owner = store.first_administrator(session, organization_id)
        return tokens.create(session, organization_id, kind, name, scopes, "setup", owner)[1]


def accept_token(owner_url: str, organization_id: int, secret: str, name: str) -> bool:
    """Create an ingest token with a secret that was chosen elsewhere; False if it was already known, or revoked.

    Raises ValueError if the secret is easier to guess than those created here.
    """
    if not (secret.startswith(INGEST_PREFIX) and _MIN_SECRET_LENGTH <= len(secret) <= tokens.MAX_SECRET_LENGTH):
        needed = _MIN_SECRET_LENGTH - len(INGEST_PREFIX)
        raise ValueError(f"must be {INGEST_PREFIX} and at least {needed} random characters")
    with as_owner(owner_url) as session:
        # Concurrent set-ups: the second waits here, then finds the token.
        store.lock_tokens(session, organization_id)
        known = store.has_token(session, secrets.digest(secret))
        if not known:
            owner = store.first_administrator(session, organization_id)
            tokens.create(session, organization_id, "ingest", name, (), "setup", owner, secret=secret)
        return not known


class SeveralAccounts(ValueError):
    """An address has local accounts in several organizations."""


def set_password(owner_url: str, email: str, password: str, organization_id: int | None = None) -> bool:
    """Reset a forgotten password and end the user's sessions; False if there is no such user.

    `organization_id`: an organization that the account is a member of. Raises SeveralAccounts if it is needed.
    """
    with as_owner(owner_url) as session:
        users = store.users(session, email, organization_id)
        if len(users) > 1:
            raise SeveralAccounts(f"{len(users)} accounts have the address {email}")
        for user in users:
            store.set_password(session, user, secrets.hash_password(password))
        return bool(users)
