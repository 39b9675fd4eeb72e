"""API and ingest tokens: create, list, revoke, and recognize."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from jitterscope.errors import Problem, not_found
from jitterscope.tenancy import secrets
from jitterscope.tenancy.models import Token
from jitterscope.tenancy.principal import Principal, unauthenticated
from jitterscope.tenancy.scopes import INGEST
from jitterscope.tenancy.store import tokens as store
from jitterscope.tenancy.store.tokens import owned as owned

Kind = Literal["api", "ingest"]
_SCOPE = re.compile(r"(\*|[a-z_]+):(\*|[a-z_]+)")
API_PREFIX = "jsa_"
INGEST_PREFIX = "jsi_"
_PREFIXES: dict[Kind, str] = {"api": API_PREFIX, "ingest": INGEST_PREFIX}
MAX_SECRET_LENGTH = 200
# Valid ones of each kind; of those that have ended, the list shows the newest.
MOST = 500
_MOST_ENDED = 100


def principal_of(secret: str) -> Principal | None:
    """The caller that a bearer token stands for; None if it is unknown, expired, or revoked."""
    if not secret.startswith((API_PREFIX, INGEST_PREFIX)) or len(secret) > MAX_SECRET_LENGTH:
        return None
    row = store.with_hash(secrets.digest(secret))
    if row is None:
        return None
    return Principal(
        organization_id=row.organization_id,
        kind="ingest_token" if row.kind == "ingest" else "api_token",
        actor=f"token {row.name}",
        token_id=row.token_id,
        scopes=frozenset(row.scopes),
        owner_id=row.owner_id,
        owner_role=row.owner_role,
        expires_at=row.expires_at,
    )


def create(
    session: Session,
    organization_id: int,
    kind: Kind,
    name: str,
    scopes: Sequence[str],
    created_by: str,
    owner_id: int,
    *,
    expires_at: datetime | None = None,
    parent_id: int | None = None,
    secret: str | None = None,
) -> tuple[Token, str]:
    """Create a token; returns it with its secret, which is not stored. `secret`: one that was created elsewhere."""
    secret = secret or secrets.new_secret(_PREFIXES[kind])
    token = Token(
        organization_id=organization_id,
        kind=kind,
        name=name,
        token_hash=secrets.digest(secret),
        hint=secret[-4:],
        scopes=sorted(INGEST) if kind == "ingest" else sorted(set(scopes)),
        created_by=created_by,
        owner_id=owner_id,
        parent_id=parent_id,
        expires_at=expires_at,
    )
    session.add(token)
    session.flush()
    session.refresh(token)
    return token, secret


def create_for(
    session: Session, principal: Principal, kind: Kind, name: str, scopes: Sequence[str], expires_at: datetime | None
) -> tuple[Token, str]:
    """Create a token for a caller: API tokens have no more rights, and last no longer, than the caller's.

    What a token creates belongs to its owner and ends with it. Raises Problem 409 if the organization has too many.
    """
    if principal.person is None:
        raise RuntimeError("a caller without a person behind it")
    hold(session, principal)
    if store.count_valid(session, principal.organization_id, kind) >= MOST:
        raise Problem(
            409,
            "too-many-tokens",
            "Too many tokens",
            f"An organization has at most {MOST} valid tokens of a kind.",
            "Revoke one that is not needed.",
        )
    return create(
        session,
        principal.organization_id,
        kind,
        name,
        scopes,
        principal.actor,
        principal.person,
        expires_at=_expiry(principal, expires_at),
        parent_id=principal.token_id,
    )


def hold(session: Session, principal: Principal) -> None:
    """Lock the caller's token, if it has one, so that a concurrent revocation finds what it created.

    Raises Problem 401 if it is already revoked.
    """
    if principal.token_id is not None and not store.lock_unless_revoked(session, principal.token_id):
        raise unauthenticated("The token was just revoked.")


def _expiry(principal: Principal, wanted: datetime | None) -> datetime | None:
    if wanted is not None and wanted.tzinfo is None:
        raise Problem(422, "no-time-zone", "Time zone missing", "`expires_at` has no time zone.", "Give it in UTC.")
    if principal.expires_at is None or wanted is None:
        return wanted or principal.expires_at
    if wanted > principal.expires_at:
        raise Problem(
            403,
            "expiry-not-held",
            "Not allowed",
            f"{principal.actor} ends at {principal.expires_at:%Y-%m-%d %H:%M:%SZ}; a new token cannot last longer.",
            "Send an earlier `expires_at`, or omit it: then both end together.",
        )
    return wanted


def check_scopes(principal: Principal, scopes: Sequence[str]) -> None:
    """Reject malformed scopes and those that the caller does not hold."""
    for scope in scopes:
        if not _SCOPE.fullmatch(scope):
            raise Problem(
                422,
                "invalid-scope",
                "Invalid scope",
                f"{scope!r} is not of the form domain:action.",
                'Use scopes like "incidents:read", "*:read" or "*:*".',
            )
        if not principal.can(scope):
            raise Problem(
                403,
                "scope-not-held",
                "Not allowed",
                f"A token cannot hold {scope}, which {principal.actor} lacks.",
                "Ask for scopes that you hold.",
            )


def listed(session: Session, organization_id: int, kind: Kind) -> list[Token]:
    """The valid tokens of a kind and the newest of those that have ended, newest first."""
    return store.listed(session, organization_id, kind, _MOST_ENDED)


def revoke(session: Session, organization_id: int, kind: Kind, token_id: int) -> Token:
    """Revoke a token and those created with it, at once. Repeating it changes nothing. Raises Problem 404."""
    token = store.of_kind(session, organization_id, kind, token_id)
    if token is None:
        raise not_found("token", token_id)
    store.end(session, [token_id])
    session.refresh(token)
    return token


def end_all(session: Session, tokens: Sequence[Token]) -> None:
    """Revoke tokens and those created with them."""
    store.end(session, [token.id for token in tokens])
