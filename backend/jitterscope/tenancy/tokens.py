"""API and ingest tokens: create, list, revoke, and recognize."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, func, select, text, update
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.errors import Problem, not_found
from jitterscope.tenancy import secrets
from jitterscope.tenancy.auth import API_PREFIX, INGEST_PREFIX, Principal, unauthenticated
from jitterscope.tenancy.models import Token
from jitterscope.tenancy.scopes import INGEST

Kind = Literal["api", "ingest"]
_SCOPE = re.compile(r"(\*|[a-z_]+):(\*|[a-z_]+)")
_PREFIXES: dict[Kind, str] = {"api": API_PREFIX, "ingest": INGEST_PREFIX}
MAX_SECRET_LENGTH = 200
# Valid ones of each kind; of those that have ended, the list shows the newest.
MOST = 500
_MOST_ENDED = 100


def principal_of(secret: str) -> Principal | None:
    """The caller that a bearer token stands for; None if it is unknown, expired, or revoked."""
    if not secret.startswith((API_PREFIX, INGEST_PREFIX)) or len(secret) > MAX_SECRET_LENGTH:
        return None
    with db.lookup_connection() as connection:
        row = connection.execute(
            text("SELECT * FROM auth_token(:hash)"),
            {"hash": secrets.digest(secret)},
        ).one_or_none()
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
    of_kind = select(func.count()).where(Token.organization_id == principal.organization_id, Token.kind == kind)
    if (session.scalar(of_kind.where(_valid())) or 0) >= MOST:
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
    if principal.token_id is not None:
        query = select(Token.id).where(Token.id == principal.token_id, Token.revoked_at.is_(None))
        if session.scalars(query.with_for_update()).one_or_none() is None:
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
    query = select(Token).where(Token.organization_id == organization_id, Token.kind == kind).order_by(Token.id.desc())
    valid = session.scalars(query.where(_valid()))
    ended = session.scalars(query.where(~_valid()).limit(_MOST_ENDED))
    return sorted([*valid, *ended], key=lambda token: token.id, reverse=True)


def revoke(session: Session, organization_id: int, kind: Kind, token_id: int) -> Token:
    """Revoke a token and those created with it, at once. Repeating it changes nothing. Raises Problem 404."""
    token = session.scalars(
        select(Token).where(Token.organization_id == organization_id, Token.id == token_id, Token.kind == kind)
    ).one_or_none()
    if token is None:
        raise not_found("token", token_id)
    _end(session, [token_id])
    session.refresh(token)
    return token


def owned(session: Session, organization_id: int, user_id: int) -> list[Token]:
    """A member's valid tokens."""
    query = select(Token).where(Token.organization_id == organization_id, Token.owner_id == user_id)
    return list(session.scalars(query.where(_valid()).order_by(Token.id).with_for_update()))


def _valid() -> ColumnElement[bool]:
    return Token.revoked_at.is_(None) & (Token.expires_at.is_(None) | (Token.expires_at > func.now()))


def end_all(session: Session, tokens: Sequence[Token]) -> None:
    """Revoke tokens and those created with them."""
    _end(session, [token.id for token in tokens])


def _end(session: Session, token_ids: Sequence[int]) -> None:
    """Revoke level by level: the update locks each level before its children are looked up."""
    level = list(token_ids)
    while level:
        revoked = (
            update(Token).where(Token.id.in_(level)).values(revoked_at=func.coalesce(Token.revoked_at, func.now()))
        )
        session.execute(revoked)
        level = list(session.scalars(select(Token.id).where(Token.parent_id.in_(level))))
