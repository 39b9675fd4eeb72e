"""API and ingest tokens: made, listed, revoked, and recognised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from sqlalchemy import func, select, text, update
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.errors import Problem, not_found
from jitterscope.tenancy import secrets
from jitterscope.tenancy.auth import API_PREFIX, INGEST_PREFIX, Principal
from jitterscope.tenancy.models import Token
from jitterscope.tenancy.scopes import INGEST

Kind = Literal["api", "ingest"]
_SCOPE = re.compile(r"(\*|[a-z_]+):(\*|[a-z_]+)")
_PREFIXES: dict[Kind, str] = {"api": API_PREFIX, "ingest": INGEST_PREFIX}
MAX_SECRET_LENGTH = 200


def principal_of(secret: str) -> Principal | None:
    """The caller that a bearer token stands for; None where it is unknown, expired or revoked."""
    if not secret.startswith((API_PREFIX, INGEST_PREFIX)) or len(secret) > MAX_SECRET_LENGTH:
        return None
    with db.lookup_connection() as connection:
        row = connection.execute(
            text("SELECT token_id, organization_id, kind, name, scopes FROM auth_token(:hash)"),
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
    )


def create(
    session: Session,
    organization_id: int,
    kind: Kind,
    name: str,
    scopes: Sequence[str],
    created_by: str,
    expires_at: datetime | None = None,
    secret: str | None = None,
) -> tuple[Token, str]:
    """A new token and its secret, which is kept nowhere. `secret`: one that was made elsewhere."""
    secret = secret or secrets.new_secret(_PREFIXES[kind])
    token = Token(
        organization_id=organization_id,
        kind=kind,
        name=name,
        token_hash=secrets.digest(secret),
        hint=secret[-4:],
        scopes=sorted(INGEST) if kind == "ingest" else sorted(set(scopes)),
        created_by=created_by,
        expires_at=expires_at,
    )
    session.add(token)
    session.flush()
    session.refresh(token)
    return token, secret


def check_scopes(principal: Principal, scopes: Sequence[str]) -> None:
    """Refuse malformed scopes and those that the caller does not hold itself."""
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
    """All tokens of a kind, newest first, revoked ones too."""
    query = select(Token).where(Token.organization_id == organization_id, Token.kind == kind)
    return list(session.scalars(query.order_by(Token.id.desc())))


def revoke(session: Session, organization_id: int, kind: Kind, token_id: int) -> Token:
    """Make a token useless at once. Revoking again changes nothing. Raises Problem 404."""
    session.execute(
        update(Token)
        .where(Token.organization_id == organization_id, Token.id == token_id, Token.kind == kind)
        .where(Token.revoked_at.is_(None))
        .values(revoked_at=func.now())
    )
    token = session.scalars(
        select(Token).where(Token.organization_id == organization_id, Token.id == token_id, Token.kind == kind)
    ).one_or_none()
    if token is None:
        raise not_found("token", token_id)
    return token
