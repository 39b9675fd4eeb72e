"""Every route × every kind of caller, from the route table: a new route is covered without being listed here."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator

import pytest
from fastapi import APIRouter, Depends, FastAPI

from jitterscope.kit.declared import Route, UndeclaredRoute, anyone, audited, not_audited, route_table
from jitterscope.tenancy.auth import require
from tests.backend.conftest import Database, Organization
from tests.backend.tenancy.principals import Caller, Cast, callers
from tests.support.asgi import Answer, call

NOBODYS_ID = "999999999999"
# Ends the session that it is called with, so it comes last.
ENDS_THE_SESSION = "log_out"


def table(app: FastAPI) -> list[Route]:
    rows: list[Route] = app.state.route_table
    return sorted(rows, key=lambda row: row.name == ENDS_THE_SESSION)


def scopes(rows: list[Route]) -> set[str]:
    return {row.access.scope for row in rows if row.access.scope is not None}


def wrong(route: Route, caller: Caller, answer: Answer) -> str | None:
    """What differs from the route's declaration; None if nothing does."""
    if answer.status >= 500 and route.name != "page":  # the UI might not be built here
        return "failed"
    if route.access.who == "link":
        ended = answer.status == 401 and answer.problem in ("link-ended", "link-unknown")
        return None if ended != caller.has_link else "holds a link" if ended else "holds no link that works"
    turned_away = (answer.status, answer.problem) == (401, "unauthenticated")
    refused = (answer.status, answer.problem) == (403, "missing-scope")
    must_know, scope = route.access.who != "anyone", route.access.scope
    if turned_away != (must_know and caller.holds is None):
        return "should be turned away" if must_know else "should not be turned away"
    if refused != (scope is not None and caller.holds is not None and scope not in caller.holds):
        return f"lacks {scope}" if not refused else f"holds {scope}"
    return None


@pytest.mark.slow
@pytest.mark.timeout(1200)  # thousands of requests
@pytest.mark.usefixtures("client")
def test_every_route_lets_in_whom_it_declares(app: FastAPI, database: Database, organization: Organization) -> None:
    rows = table(app)
    cast = callers(Cast(database, organization), scopes(rows))

    async def walk() -> list[str]:
        found = []
        for row in rows:
            path = re.sub(r"\{[^}]+\}", NOBODYS_ID, row.path)
            for caller in cast:
                # Without a body: a permitted caller gets a 4xx for that, and nothing changes.
                answer = await call(app, row.method, path, caller.headers, streams=row.streams)
                problem = wrong(row, caller, answer)
                if problem is not None:
                    told = f"{row.method} {row.path}, {caller.name}: {problem}, got {answer.status} {answer.problem}"
                    found.append(told)
        return found

    assert asyncio.run(walk()) == []
    told = f"{len(rows)} routes × {len(cast)} callers = {len(rows) * len(cast)} requests, all as declared"
    print(f"\n{told}")  # noqa: T201
    assert len(rows) > 75
    assert len(cast) > 30


def test_the_api_document_has_no_route_that_the_table_lacks(app: FastAPI) -> None:
    documented = {
        (method.upper(), path) for path, operations in app.openapi()["paths"].items() for method in operations
    }
    listed = {(row.method, re.sub(r":path\}", "}", row.path)) for row in table(app)}
    assert documented <= listed
    beside = [getattr(route, "path", None) for route in app.routes if getattr(route, "path", None) is not None]
    assert beside == [], "a route that is not in the table: add its router in main.py"


def _undeclared() -> Iterator[APIRouter]:
    nothing, no_audit, both = APIRouter(), APIRouter(), APIRouter()

    @nothing.get("/x")
    def nobody_said() -> None: ...

    @no_audit.post("/x", dependencies=[Depends(require("incidents:write"))])
    def nobody_records() -> None: ...

    @both.post("/x", dependencies=[anyone("why"), Depends(require("incidents:write")), audited("x.y")])
    def two_say() -> None: ...

    yield from (nothing, no_audit, both)


@pytest.mark.parametrize("number", range(3))
def test_a_route_that_declares_nothing_does_not_start(number: int) -> None:
    with pytest.raises(UndeclaredRoute):
        route_table([("", list(_undeclared())[number])])


def test_the_matrix_would_notice_a_wrong_declaration(app: FastAPI) -> None:
    """The control: a route that declares more than it holds."""
    router = APIRouter()

    @router.post("/open", dependencies=[not_audited("test"), Depends(require("tokens:read"))])
    def open_to_all() -> None: ...

    (row,) = route_table([("", router)])
    somebody = Caller("viewer", {}, frozenset())
    assert wrong(row, somebody, Answer(200, b"{}")) == "lacks tokens:read"
    assert wrong(row, Caller("nobody", {}, None), Answer(200, b"{}")) == "should be turned away"
    refused = Answer(403, b'{"type": "urn:jitterscope:problem:missing-scope"}')
    assert wrong(row, Caller("admin", {}, frozenset({"tokens:read"})), refused) == "holds tokens:read"
    shown = next(one for one in table(app) if one.access.who == "link")
    assert wrong(shown, somebody, Answer(200, b"{}")) == "holds no link that works"
    ended = Answer(401, b'{"type": "urn:jitterscope:problem:link-ended"}')
    assert wrong(shown, Caller("link", {}, None, has_link=True), ended) == "holds a link"
    assert wrong(row, Caller("link", {}, None, has_link=True), Answer(200, b"{}")) == "should be turned away"
