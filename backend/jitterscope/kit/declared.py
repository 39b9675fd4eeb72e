"""What each route declares: who may call it, and what it records in the audit trail.

    @router.post("/channels", dependencies=[audited("channel.create")])
    def create_channel(principal: Annotated[Principal, Depends(require("channels:write"))]) -> …

`require` of tenancy declares a scope. An application with a route that declares nothing does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import Depends
from fastapi.dependencies.models import Dependant
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute, APIRouter
from starlette.responses import StreamingResponse

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Access:
    """Who may call a route. `scope` if it needs one, `reason` if it does not; "link": holders of a shared link."""

    who: Literal["scope", "any caller", "anyone", "link"]
    scope: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """The actions that a route records when it changes something, or why it records none."""

    actions: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the route table."""

    method: str
    path: str
    name: str
    access: Access
    audit: Audit | None
    streams: bool
    endpoint: Callable[..., Any]
    statuses: frozenset[int]  # of non-error answers
    in_path: tuple[str, ...]  # names of parameters
    takes_values: bool  # parameters or a body
    takes_body: bool
    documented: bool

    @property
    def changes(self) -> bool:
        """Whether its method may change something."""
        return self.method not in SAFE_METHODS


class UndeclaredRoute(RuntimeError):
    """A route does not declare who may call it or what it records."""


def anyone(reason: str) -> Any:  # noqa: ANN401
    """Declare a route for callers without credentials, and why that is acceptable."""
    return Depends(_marker("access", Access("anyone", reason=reason)))


def audited(*actions: str) -> Any:  # noqa: ANN401
    """Declare the actions that a route records with `audit.record`, in the transaction of the change."""
    return Depends(_marker("audit", Audit(actions)))


def not_audited(reason: str) -> Any:  # noqa: ANN401
    """Declare why a route whose method may change something records nothing in the audit trail."""
    return Depends(_marker("audit", Audit(reason=reason)))


def route_table(routers: Iterable[tuple[str, APIRouter]]) -> list[Route]:
    """Every route of the routers, with their prefixes. Raises UndeclaredRoute."""
    return [row for prefix, router in routers for route in _routes(router) for row in _rows(prefix, route)]


def _routes(router: APIRouter) -> Iterator[APIRoute]:
    for route in router.routes:
        if not isinstance(route, APIRoute):
            raise UndeclaredRoute(f"{route!r} is no route of FastAPI and declares nothing")
        yield route


def _rows(prefix: str, route: APIRoute) -> Iterator[Route]:
    for method in sorted(route.methods or ()):
        name = f"{method} {prefix}{route.path}"
        access = _declared(route, "access")
        audit = _declared(route, "audit")
        if len(access) != 1:
            raise UndeclaredRoute(f"{name} needs exactly one of require(…), authenticate, link_holder and anyone(…)")
        if len(audit) > 1 or (not audit and method not in SAFE_METHODS):
            raise UndeclaredRoute(f"{name} needs exactly one of audited(…) and not_audited(…)")
        streams = isinstance(route.response_class, type) and issubclass(route.response_class, StreamingResponse)
        streams = streams or "EventSource" in getattr(route.response_class, "__name__", "")
        takes_body = route.body_field is not None or "requestBody" in (route.openapi_extra or {})
        yield Route(
            method, prefix + route.path, route.name, access[0], audit[0] if audit else None, streams, route.endpoint,
            statuses=frozenset({route.status_code or 200, *(int(one) for one in route.responses)}),
            in_path=tuple(route.param_convertors),
            takes_values=takes_body or bool(get_flat_params(route.dependant)),
            takes_body=takes_body,
            documented=route.include_in_schema,
        )  # fmt: skip


def _declared(route: APIRoute, name: str) -> list[Any]:
    def walk(dependant: Dependant) -> Iterator[Any]:
        for one in dependant.dependencies:
            found = getattr(one.call, name, None)
            if found is not None:
                yield found
            else:
                yield from walk(one)

    return list(walk(route.dependant))


def _marker(name: str, value: Access | Audit) -> Callable[[], Any]:
    async def declares() -> None:
        """Do nothing: the route table reads the attribute."""

    setattr(declares, name, value)
    return declares
