"""Who is calling: the dependency with which every endpoint states its scope.

principal: Annotated[Principal, Depends(require("incidents:read"))]
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from fastapi import Request

from jitterscope import bounds
from jitterscope.errors import Problem
from jitterscope.kit.declared import SAFE_METHODS, Access
from jitterscope.settings import settings
from jitterscope.tenancy import sessions, tokens
from jitterscope.tenancy.principal import Principal, unauthenticated

COOKIE = "jitterscope_session"


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
