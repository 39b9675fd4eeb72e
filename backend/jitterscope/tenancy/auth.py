"""Who is calling: the dependency that every endpoint states its scope with.

principal: Annotated[Principal, Depends(require("incidents:read"))]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Request

from jitterscope.errors import Problem
from jitterscope.tenancy.scopes import Role, role_allows, scopes_allow

COOKIE = "jitterscope_session"
API_PREFIX = "jsa_"
INGEST_PREFIX = "jsi_"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller inside one organization."""

    organization_id: int
    kind: Literal["session", "api_token", "ingest_token"]
    actor: str  # shown in histories and the audit trail: a user's name or "token NAME"
    user_id: int | None = None
    token_id: int | None = None
    session_id: int | None = None
    role: Role | None = None
    scopes: frozenset[str] = frozenset()

    def can(self, scope: str) -> bool:
        """Whether the caller holds a scope."""
        return role_allows(self.role, scope) if self.role is not None else scopes_allow(self.scopes, scope)


def require(scope: str) -> Callable[[Request], Principal]:
    """A dependency that yields the caller or refuses with 401 (who are you) or 403 (you may not)."""

    def dependency(request: Request) -> Principal:
        principal = authenticate(request)
        if not principal.can(scope):
            raise Problem(
                403,
                "missing-scope",
                "Not allowed",
                f"This needs the scope {scope}, which {principal.actor} lacks.",
                "Ask an administrator of the organization for a role or a token that has it.",
            )
        return principal

    dependency.__name__ = f"require_{scope.replace(':', '_').replace('*', 'any')}"
    return dependency


def authenticate(request: Request) -> Principal:
    """The caller of a request, from its bearer token or its session cookie. Raises Problem 401."""
    # Imported here: the repository needs the models, which need this module's Principal.
    from jitterscope.tenancy import sessions, tokens

    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme:
        if scheme.lower() != "bearer":
            raise unauthenticated("The Authorization header is not a bearer token.")
        principal = tokens.principal_of(secret.strip())
        if principal is None:
            raise unauthenticated("The token is unknown, expired or revoked.")
        return principal
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        raise unauthenticated("No session cookie and no bearer token.")
    principal = sessions.principal_of(cookie)
    if principal is None:
        raise unauthenticated("The session is unknown or has ended.")
    if request.method not in _SAFE_METHODS:
        check_origin(request)
    return principal


def check_origin(request: Request) -> None:
    """Refuse cross-site requests that ride on a cookie: same Origin, or a header that forms cannot set."""
    if request.headers.get("x-requested-with", "").lower() == "jitterscope":
        return
    origin = request.headers.get("origin")
    if origin and urlsplit(origin).netloc == request.headers.get("host"):
        return
    raise Problem(
        403,
        "cross-site",
        "Cross-site request refused",
        "A change with a session cookie must come from this site.",
        "Send the header `X-Requested-With: jitterscope`, or use an API token.",
    )


def unauthenticated(why: str) -> Problem:
    """401 with the way in."""
    return Problem(
        401,
        "unauthenticated",
        "Sign in first",
        why,
        "POST /api/v1/auth/login, or send `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": 'Bearer realm="jitterscope"'},
    )
