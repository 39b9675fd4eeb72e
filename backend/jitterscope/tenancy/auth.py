"""Who is calling: the dependency with which every endpoint states its scope.

principal: Annotated[Principal, Depends(require("incidents:read"))]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Request

from jitterscope import bounds
from jitterscope.errors import Problem
from jitterscope.kit.declared import SAFE_METHODS, Access
from jitterscope.settings import settings
from jitterscope.slots import Caller
from jitterscope.tenancy.scopes import Role, role_allows, scopes_allow, scopes_of

COOKIE = "jitterscope_session"
API_PREFIX = "jsa_"
INGEST_PREFIX = "jsi_"


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
    # For a token: its owner, the owner's current role, and when it expires.
    owner_id: int | None = None
    owner_role: Role | None = None
    expires_at: datetime | None = None

    def can(self, scope: str) -> bool:
        """Whether the caller holds a scope. A token holds no more than its owner currently does."""
        if self.role is not None:
            return role_allows(self.role, scope)
        if self.owner_role is None or not scopes_allow(self.scopes, scope):
            return False
        # Members have no right to send data: those who may create collector tokens may own one.
        return role_allows(self.owner_role, "collectors:write" if scope == "ingest:write" else scope)

    def holds_role(self, role: Role) -> bool:
        """Whether the caller holds every scope of a role: only then may it give or take that role."""
        return all(self.can(scope) for scope in scopes_of(role))

    @property
    def person(self) -> int | None:
        """The user behind the caller: the signed-in user, or the token's owner."""
        return self.user_id if self.user_id is not None else self.owner_id

    @property
    def caller(self) -> Caller:
        """The identity that takes request slots: all sessions of a user share one."""
        who = f"user {self.user_id}" if self.kind == "session" else f"token {self.token_id}"
        return Caller(who, self.organization_id)


def require(scope: str) -> Callable[[Request], Awaitable[Principal]]:
    """A dependency that yields the caller or refuses with 401 (not authenticated) or 403 (not allowed).

    It also takes the slot that the route declares with `bounded`.
    """

    async def dependency(request: Request) -> Principal:
        principal = await bounds.look_up(request, _caller)
        _check_scope(principal, scope)
        await bounds.enter(request, principal.caller)
        return principal

    dependency.__name__ = f"require_{scope.replace(':', '_').replace('*', 'any')}"
    dependency.access = Access("scope", scope)  # type: ignore[attr-defined]
    return dependency


def still_allowed(request: Request, scope: str) -> Principal:
    """The caller of a request that has been running for a while. Raises Problem 401 or 403 if its access has ended."""
    principal = caller_of(request)
    _check_scope(principal, scope)
    return principal


def _check_scope(principal: Principal, scope: str) -> None:
    if not principal.can(scope):
        raise Problem(
            403,
            "missing-scope",
            "Not allowed",
            f"This needs the scope {scope}, which {principal.actor} lacks.",
            "Ask an administrator of the organization for a role or a token that has it.",
        )


async def authenticate(request: Request) -> Principal:
    """A dependency that yields any authenticated caller, whatever its scopes. Raises Problem 401."""
    principal = await bounds.look_up(request, _caller)
    await bounds.enter(request, principal.caller)
    return principal


def _caller(request: Request) -> Principal:
    """Authenticate a request and count it. Raises Problem 401 or 429."""
    from jitterscope.tenancy import limits

    principal = caller_of(request)
    # Ingested data has its own limits, and requests on the bulk lane were counted in front of it.
    if principal.kind != "ingest_token" and settings().api_lane != "bulk":
        limits.spend(principal.organization_id, {"requests": 1})
    return principal


def caller_of(request: Request) -> Principal:
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
        request.state.principal = principal
        return principal
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        raise unauthenticated("No session cookie and no bearer token.")
    principal = sessions.principal_of(cookie)
    if principal is None:
        raise unauthenticated("The session is unknown or has ended.")
    request.state.principal = principal
    if request.method not in SAFE_METHODS:
        check_origin(request)
    return principal


authenticate.access = Access("any caller")  # type: ignore[attr-defined]


def check_origin(request: Request) -> None:
    """Reject cross-site requests that ride on a cookie: require the same Origin, or a header that forms cannot set."""
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
    """401 that says how to authenticate."""
    return Problem(
        401,
        "unauthenticated",
        "Sign in first",
        why,
        "POST /api/v1/auth/login, or send `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": 'Bearer realm="jitterscope"'},
    )
