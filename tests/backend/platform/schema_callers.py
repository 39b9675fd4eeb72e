"""Who calls an operation: callers that it must reject, and one that gets as far as possible."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from jitterscope.kit.declared import Route
from jitterscope.main import create_app
from tests.backend.conftest import Database, Organization
from tests.backend.tenancy.principals import Cast, bearer


@cache
def _routes() -> dict[str, Route]:
    return {row.name: row for row in create_app().state.route_table}


class Callers:
    """A viewer and an administrator of an organization, and their credentials."""

    def __init__(self, database: Database, organization: Organization) -> None:
        self._cast = Cast(database, organization)
        self._viewer, self._admin = self._cast.member("viewer"), self._cast.member("admin")
        self._token = bearer(self._cast.token(self._admin, "*:*"))
        self._ingest = bearer(self._cast.token(self._admin, kind="ingest"))
        self._sessions = {user: self._cast.session(user) for user in (self._viewer, self._admin)}

    def of(self, operation: Any) -> Iterator[tuple[str, dict[str, str]]]:
        """Names and headers."""
        access = _routes()[operation.definition.raw["operationId"]].access
        yield "nobody", {}
        if access.who == "link":
            yield "holder of a link", bearer(self._cast.link(self._admin))
        elif access.scope == "ingest:write":
            yield "API token", self._token
            yield "ingest token", self._ingest
        elif access.scope is not None:
            yield "viewer, signed in", self._sessions[self._viewer]
            yield "token of an administrator", self._token
        else:
            # Started for each case: it might end its session.
            yield "administrator, signed in", self._cast.session(self._admin)
            yield "token of an administrator", self._token
