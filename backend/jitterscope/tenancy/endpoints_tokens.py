"""tokens (for programs) and collectors/tokens (for collectors)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, bounded
from jitterscope.kit.declared import audited
from jitterscope.kit.schema import Page
from jitterscope.paging import unpaged
from jitterscope.tenancy import members, models, tokens
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.schemas import IngestTokenRequest, NewIngestToken, NewToken, TokenInfo, TokenRequest
from jitterscope.tenancy.setups import address, linux

router = APIRouter(tags=["tokens"])
ReadTokens = Annotated[Principal, Depends(require("tokens:read"))]
WriteTokens = Annotated[Principal, Depends(require("tokens:write"))]
ReadCollectors = Annotated[Principal, Depends(require("collectors:read"))]
WriteCollectors = Annotated[Principal, Depends(require("collectors:write"))]
_WHY_UNPAGED = f"At most {tokens.MOST} are valid, and of the others only the newest are listed."


@router.get("/tokens")
@bounded(QUICK)
@unpaged(_WHY_UNPAGED)
def list_tokens(principal: ReadTokens) -> Page[TokenInfo]:
    """Valid API tokens and the 100 newest that have ended; never with their secrets."""
    return _listed(principal, "api")


@router.post("/tokens", status_code=201, dependencies=[audited("token.create")])
@bounded(QUICK)
@refuses(403, "A scope or the expiry goes beyond the caller's own.")
@refuses(409, "The organization has as many valid tokens as it can have.")
def create_token(body: TokenRequest, principal: WriteTokens) -> NewToken:
    """Create an API token with scopes that the caller holds. It is yours and ends with your membership. Only this
    response has the secret. If created with a token, it ends no later than that token."""
    tokens.check_scopes(principal, body.scopes)
    with db.organization_session(principal.organization_id) as session:
        token, secret = tokens.create_for(session, principal, "api", body.name, body.scopes, body.expires_at)
        detail = {"name": body.name, "scopes": body.scopes, "expires_at": token.expires_at and f"{token.expires_at}"}
        audit.record(session, principal, "token.create", f"token {token.id}", detail)
        return NewToken(token=_info(session, principal, token), secret=secret)


@router.delete("/tokens/{token_id}", dependencies=[audited("token.revoke")])
@bounded(QUICK)
def revoke_token(token_id: int, principal: WriteTokens) -> TokenInfo:
    """Revoke an API token immediately."""
    return _revoked(principal, "api", token_id)


@router.get("/collectors/tokens")
@bounded(QUICK)
@unpaged(_WHY_UNPAGED)
def list_ingest_tokens(principal: ReadCollectors) -> Page[TokenInfo]:
    """Valid ingest tokens and the 100 newest that have ended; never with their secrets."""
    return _listed(principal, "ingest")


@router.post("/collectors/tokens", status_code=201, dependencies=[audited("ingest_token.create")])
@bounded(QUICK)
@refuses(409, "The organization has as many valid tokens as it can have.")
def create_ingest_token(request: Request, body: IngestTokenRequest, principal: WriteCollectors) -> NewIngestToken:
    """Create a token that can only send data, with the command that starts a collector with it."""
    with db.organization_session(principal.organization_id) as session:
        token, secret = tokens.create_for(session, principal, "ingest", body.name, (), None)
        audit.record(session, principal, "ingest_token.create", f"token {token.id}", {"name": body.name})
        return NewIngestToken(
            token=_info(session, principal, token),
            secret=secret,
            install_command=linux.install_command(address.server_for(request), secret),
        )


@router.delete("/collectors/tokens/{token_id}", dependencies=[audited("ingest_token.revoke")])
@bounded(QUICK)
def revoke_ingest_token(token_id: int, principal: WriteCollectors) -> TokenInfo:
    """Revoke an ingest token immediately: its collectors are refused from their next batch on."""
    return _revoked(principal, "ingest", token_id)


def _listed(principal: Principal, kind: tokens.Kind) -> Page[TokenInfo]:
    with db.organization_session(principal.organization_id) as session:
        found = tokens.listed(session, principal.organization_id, kind)
        names = _names(session, principal)
        return Page(items=[_info(session, principal, token, names) for token in found], next_cursor=None)


def _revoked(principal: Principal, kind: tokens.Kind, token_id: int) -> TokenInfo:
    with db.organization_session(principal.organization_id) as session:
        token = tokens.revoke(session, principal.organization_id, kind, token_id)
        action = f"{'token' if kind == 'api' else 'ingest_token'}.revoke"
        audit.record(session, principal, action, f"token {token_id}", {"name": token.name, "scopes": token.scopes})
        return _info(session, principal, token)


def _names(session: Session, principal: Principal) -> dict[int, str]:
    return {member.user_id: member.name for member in members.listed(session, principal.organization_id)}


def _info(
    session: Session, principal: Principal, token: models.Token, names: dict[int, str] | None = None
) -> TokenInfo:
    columns = {name: getattr(token, name) for name in TokenInfo.model_fields if name != "owner"}
    names = _names(session, principal) if names is None else names
    return TokenInfo.model_validate(columns | {"owner": names.get(token.owner_id)})
