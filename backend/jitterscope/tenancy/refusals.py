"""Records refusals in the audit trail: requests without the right, and failed sign-ins."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import structlog
from fastapi import Request
from sqlalchemy.exc import SQLAlchemyError

from jitterscope import cache, db
from jitterscope.audit import service as audit
from jitterscope.errors import Problem
from jitterscope.tenancy import attempts
from jitterscope.tenancy.principal import Principal
from jitterscope.tenancy.store import signing_in

log = structlog.get_logger(__name__)
# One entry per caller and operation in this time: a loop of refused requests must not fill the trail.
ONCE_IN_S = 60


def afterwards(request: Request, problem: Problem) -> Callable[[], object] | None:
    """A function that records a request's refusal once it is answered; None if the caller is not known."""
    principal: Principal | None = getattr(request.state, "principal", None)
    if principal is None:
        return None
    route = getattr(request.scope.get("route"), "path", request.url.path)
    operation = f"{request.method} {route}"
    return lambda: _record_refusal(principal, operation, problem)


def _record_refusal(principal: Principal, operation: str, problem: Problem) -> None:
    caller = f"{principal.kind} {principal.token_id or principal.session_id}"
    try:
        if _first(f"refused {caller} {operation} {problem.type}"):
            with db.organization_session(principal.organization_id) as session:
                detail = {"reason": problem.type, "detail": problem.detail}
                audit.record(session, principal, "access.refuse", operation, detail)
    except SQLAlchemyError as error:
        log.warning("refusal_not_recorded", error=str(error)[:300])


def record_failed_sign_in(email: str, address: str) -> None:
    """Record it in the trail of each organization that the address belongs to; nothing for an unknown address."""
    try:
        if _first(f"failed sign-in {email} {address}"):
            signing_in.record_failure(email, address)
    except SQLAlchemyError as error:
        log.warning("failed_sign_in_not_recorded", error=str(error)[:300])


def _first(what: str) -> bool:
    name = f"jitterscope:recorded:{hashlib.sha256(what.encode()).hexdigest()[:32]}"
    try:
        return bool(cache.valkey().set(name, "1", nx=True, ex=ONCE_IN_S))
    except (cache.ValkeyError, OSError) as error:
        cache.failed(error)
        return attempts.per_minute(1, name).fits()  # refusals must not be lost from the trail meanwhile
