"""The errors that each route answers with.

Most follow from what the route declares: who may call it, its bound, and its parameters. `refuses` adds its own:

    @router.post("/incidents/{incident_id}/acknowledge")
    @bounded(QUICK)
    @refuses(409, "The incident is over.")
    def acknowledge_incident(…)

The API's schema lists them. An answer that is not in the schema is counted and logged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

from starlette.types import Scope

from jitterscope.bounds import bound_of
from jitterscope.errors import MEDIA_TYPE, ProblemDocument
from jitterscope.kit.declared import Route

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])

# Errors that mean the same for every route: name and description.
_COMMON = {
    400: (
        "Malformed",
        "The body is malformed, or a value cannot be stored, such as a NUL character or a number over 64 bits.",
    ),
    401: ("Unauthenticated", "Credentials are missing, unknown, expired, or revoked."),
    413: ("TooLarge", "The body exceeds the size limit of this route."),
    422: ("Invalid", "A parameter or the body is invalid, or the request covers too much data."),
    429: ("TooManyRequests", "The caller or its organization has reached a limit."),
    503: ("Unavailable", "The service is busy, the request takes too long, or a database is unavailable."),
}
_HEADERS: dict[int, tuple[str, str]] = {
    401: ("WWW-Authenticate", "How to authenticate"),
    429: ("Retry-After", "Seconds to wait before trying again"),
    503: ("Retry-After", "Seconds to wait before trying again, if known"),
}
_FORBIDDEN = "The caller lacks the scope {scope}."
_CROSS_SITE = "A request from another site carried a session cookie."


def refuses(status: int, when: str) -> Callable[[Endpoint], Endpoint]:
    """Declare an error that is specific to the endpoint."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.__refuses__ = {status: when} | getattr(endpoint, "__refuses__", {})  # type: ignore[attr-defined]
        return endpoint

    return declare


def errors_of(route: Route) -> dict[int, str]:
    """Status → when, for each error that a route answers with. 500 is never declared."""
    own: dict[int, str] = getattr(route.endpoint, "__refuses__", {})
    found = _derived(route)
    if 404 in own:
        found.pop(404, None)
    for status, when in own.items():
        found[status] = f"{found[status]} {when}" if status in found else when
    return dict(sorted(found.items()))


def _derived(route: Route) -> dict[int, str]:
    found: dict[int, str] = {}
    if route.access.who != "anyone":
        found[401] = _COMMON[401][1]
        forbidden = [_FORBIDDEN.format(scope=route.access.scope)] if route.access.scope else []
        forbidden += [_CROSS_SITE] if route.changes else []
        if forbidden:
            found[403] = " ".join(forbidden)
    if route.in_path:
        things = " or ".join(re.sub(r"_id$", "", name).replace("_", " ") for name in route.in_path)
        found[404] = f"The {things} does not exist in this organization."
    bound = bound_of(route.endpoint)
    if route.takes_values:
        found |= {status: _COMMON[status][1] for status in (400, 422)}
    if bound is not None:
        found |= {status: _COMMON[status][1] for status in (429, 503)}
        if route.takes_body and bound.body_bytes is not None:
            found[413] = _COMMON[413][1]
    return found


def by_route(routes: Iterable[Route]) -> dict[tuple[object, str], Collection[int]]:
    """All statuses that the documented routes declare, by endpoint and method."""
    return {(one.endpoint, one.method): one.statuses | errors_of(one).keys() for one in routes if one.documented}


def undeclared(scope: Scope, status: int) -> bool:
    """Whether the request's route did not declare this answer. Unexpected errors (500) have their own log line."""
    application = scope.get("app")
    if application is None or status in (0, 500):
        return False
    declared = application.state.answers.get((scope.get("endpoint"), scope["method"]))
    return declared is not None and status not in declared


def describe(schema: dict[str, Any], routes: Iterable[Route]) -> None:
    """Add the errors of all routes to an OpenAPI document."""
    components = schema["components"]
    for name in ("HTTPValidationError", "ValidationError"):  # FastAPI's own 422
        components["schemas"].pop(name, None)
    components["schemas"]["ProblemDocument"] = ProblemDocument.model_json_schema()
    components["responses"] = {name: _response(status, when) for status, (name, when) in _COMMON.items()}
    for route in routes:
        operation = schema["paths"].get(re.sub(r":path\}", "}", route.path), {}).get(route.method.lower())
        if operation is None:
            continue
        operation["responses"].pop("422", None)
        for status, when in errors_of(route).items():
            name, common = _COMMON.get(status, ("", ""))
            shared = {"$ref": f"#/components/responses/{name}"}
            operation["responses"][str(status)] = shared if when == common else _response(status, when)


def _response(status: int, when: str) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}
    response: dict[str, Any] = {"description": when, "content": content}
    if status in _HEADERS:
        name, meaning = _HEADERS[status]
        response["headers"] = {name: {"description": meaning, "schema": {"type": "string"}}}
    return response
