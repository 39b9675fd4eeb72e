"""Every list of the API comes in pages, or says why it stays short."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from jitterscope.kit.declared import Route


def _is_list(schema: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Whether an answer is an array, or an object with `items`."""
    name = answer.get("$ref", "").rpartition("/")[2]
    fields = schema["components"]["schemas"].get(name, answer).get("properties", {})
    return "array" in (answer.get("type"), fields.get("items", {}).get("type"))


def _lists(app: FastAPI) -> Iterator[tuple[Route, dict[str, dict[str, Any]]]]:
    """Routes that answer with lists, and the schemas of their parameters."""
    schema = app.openapi()
    routes: list[Route] = app.state.route_table
    for route in routes:
        operation = schema["paths"].get(route.path, {}).get(route.method.lower(), {})
        contents = [one.get("content", {}) for one in operation.get("responses", {}).values()]
        if any(_is_list(schema, kind.get("schema", {})) for content in contents for kind in content.values()):
            yield route, {one["name"]: one["schema"] for one in operation.get("parameters", [])}


def test_every_list_comes_in_pages_or_says_why_it_stays_short(client: TestClient) -> None:
    assert isinstance(client.app, FastAPI)
    found = list(_lists(client.app))
    assert {"list_collectors", "list_channels", "list_members", "list_changes"} <= {route.name for route, _ in found}
    for route, parameters in found:
        why = getattr(route.endpoint, "__unpaged__", None)
        most = parameters.get("limit", {}).get("maximum")
        paged = "cursor" in parameters
        name = f"{route.method} {route.path}"
        assert paged or most is not None or why, f"{name} needs a cursor, a limit, or @unpaged(…) of jitterscope.paging"
        assert not (paged and why), f"{name} comes in pages: @unpaged(…) is wrong"
        assert not paged or most is not None, f"{name} needs a largest page"
