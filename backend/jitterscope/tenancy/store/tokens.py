"""Tokens in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, func, select, text, update
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.tenancy.models import Token


def with_hash(digest: bytes) -> Row[Any] | None:
    """The valid token with a secret, of any organization, and its owner; None if there is none."""
    with db.lookup_connection() as connection:
        return connection.execute(text("SELECT * FROM auth_token(:hash)"), {"hash": digest}).one_or_none()


def count_valid(session: Session, organization_id: int, kind: str) -> int:
    of_kind = select(func.count()).where(Token.organization_id == organization_id, Token.kind == kind)
    return session.scalar(of_kind.where(_valid())) or 0


def lock_unless_revoked(session: Session, token_id: int) -> bool:
    """Keep a token from being revoked until the end of the transaction; False if it was revoked before."""
    query = select(Token.id).where(Token.id == token_id, Token.revoked_at.is_(None))
    return session.scalars(query.with_for_update()).one_or_none() is not None


def listed(session: Session, organization_id: int, kind: str, most_ended: int) -> list[Token]:
    """The valid tokens of a kind and the newest of those that have ended, newest first."""
    query = select(Token).where(Token.organization_id == organization_id, Token.kind == kind).order_by(Token.id.desc())
    valid = session.scalars(query.where(_valid()))
    ended = session.scalars(query.where(~_valid()).limit(most_ended))
    return sorted([*valid, *ended], key=lambda token: token.id, reverse=True)


def of_kind(session: Session, organization_id: int, kind: str, token_id: int) -> Token | None:
    return session.scalars(
        select(Token).where(Token.organization_id == organization_id, Token.id == token_id, Token.kind == kind)
    ).one_or_none()


def owned(session: Session, organization_id: int, user_id: int) -> list[Token]:
    """A member's valid tokens."""
    query = select(Token).where(Token.organization_id == organization_id, Token.owner_id == user_id)
    return list(session.scalars(query.where(_valid()).order_by(Token.id).with_for_update()))


def _valid() -> ColumnElement[bool]:
    return Token.revoked_at.is_(None) & (Token.expires_at.is_(None) | (Token.expires_at > func.now()))


def end(session: Session, token_ids: Sequence[int]) -> None:
    """Revoke level by level: the update locks each level before its children are looked up."""
    level = list(token_ids)
    while level:
        revoked = (
            update(Token).where(Token.id.in_(level)).values(revoked_at=func.coalesce(Token.revoked_at, func.now()))
        )
        session.execute(revoked)
        level = list(session.scalars(select(Token.id).where(Token.parent_id.in_(level))))
