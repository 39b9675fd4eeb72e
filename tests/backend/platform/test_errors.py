from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import generate_latest
from pydantic import SecretStr

from jitterscope.answers import errors_of
from jitterscope.bounds import SIGN_IN
from jitterscope.devstack.ports import free_port
from jitterscope.http import UNDECLARED
from jitterscope.main import create_app
from jitterscope.settings import Settings, override_settings, settings
from tests.backend.conftest import Database

PROBLEM = "application/problem+json"


@pytest.fixture
def broken(database: Database) -> Iterator[TestClient]:
    """The application with a route that fails in an unforeseen way."""
    application = create_app()
    routes = application.router.routes

    @application.get("/api/v1/broken")
    def fail() -> None:
        raise RuntimeError("password=hunter2 in /srv/secret/path.py")

    routes.insert(0, routes.pop())
    with TestClient(application, raise_server_exceptions=False) as client:
        yield client


def test_an_unexpected_error_leaks_nothing(broken: TestClient) -> None:
    response = broken.get("/api/v1/broken")
    assert response.status_code == 500
    assert response.headers["content-type"] == PROBLEM
    assert "hunter2" not in response.text
    assert "path.py" not in response.text
    assert response.json()["request_id"] == response.headers["x-request-id"]


def test_problems_have_the_shape_that_the_schema_says(client: TestClient) -> None:
    response = client.get("/api/v1/audit")
    document = response.json()
    assert response.headers["content-type"] == PROBLEM
    assert document["type"] == "urn:jitterscope:problem:unauthenticated"
    assert document["status"] == response.status_code == 401
    assert document["what_to_do"]
    application = client.app
    assert isinstance(application, FastAPI)
    schema = application.openapi()
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                shared = schema["components"]["responses"].get(answer.get("$ref", "").rpartition("/")[2], answer)
                assert status.isdigit(), path
                assert int(status) < 400 or shared["content"].keys() == {PROBLEM}, path


def test_what_a_route_declares_says_which_errors_it_answers_with(client: TestClient) -> None:
    application = client.app
    assert isinstance(application, FastAPI)
    declared = {row.name: errors_of(row) for row in application.state.route_table}
    limits = {429, 503}
    assert declared["list_causes"].keys() == {401, 403} | limits
    assert declared["get_incident"].keys() == {400, 401, 403, 404, 422} | limits
    assert declared["resolve_incident"].keys() == {400, 401, 403, 404, 409, 413, 422} | limits
    assert declared["session_of_browser"].keys() == limits
    assert declared["get_incident"][404] == "The incident does not exist in this organization."
    assert "incidents:write" in declared["acknowledge_incident"][403]
    assert "The incident is over" in declared["acknowledge_incident"][409]


def test_an_answer_that_the_schema_lacks_is_counted(database: Database) -> None:
    application = create_app()
    (route,) = (row for row in application.state.route_table if row.name == "me")
    application.state.answers[route.endpoint, "GET"] = frozenset({200})
    with TestClient(application) as client:
        client.get("/api/v1/me")
    (sample,) = (one for one in next(iter(UNDECLARED.collect())).samples if one.name.endswith("_total"))
    assert sample.labels == {"method": "GET", "route": "/api/v1/me", "status": "401"}
    UNDECLARED.clear()  # no other test of the backend may end with one


def test_a_body_is_read_up_to_the_bound_of_its_route(client: TestClient) -> None:
    most = SIGN_IN.body_bytes
    assert most is not None
    for content in (b" " * (most + 1), iter([b" " * most, b" "])):
        response = client.post("/api/v1/auth/login", content=content, headers={"Content-Type": "application/json"})
        assert (response.status_code, response.headers["content-type"]) == (413, PROBLEM), response.text
    response = client.post("/api/v1/auth/login", content=b" " * most, headers={"Content-Type": "application/json"})
    assert response.status_code == 422


def test_unknown_routes_and_methods_are_problems(client: TestClient) -> None:
    for response, status in (
        (client.get("/api/v1/nothing-here"), 404),
        (client.delete("/api/v1/audit"), 405),
        (client.post("/api/v1/nothing-here"), 405),
    ):
        assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b'{"email": 7, "password": "x"}',
        b'{"email": "a@b", "password": "x", "more": 1}',
        b'{"email": "a@b", "password": "\\ud800"}',
        b'{"email": "a\\u0000@b", "password": "x"}',
        b'{"email": "a@b", "password": "\\u0000"}',
        b'{"email": "a@b", "password": "x", "organization_id": 1e400}',
        b'{"email": "a@b", "password": "x", "organization_id": 99999999999999999999999999}',
        b'{"email": "a@b", "password": "' + b"x" * 100_000 + b'"}',
        b"[" * 50_000,
        b"\xff\xfe",
    ],
)
def test_hostile_bodies_are_refused(client: TestClient, body: bytes) -> None:
    response = client.post("/api/v1/auth/login", content=body, headers={"Content-Type": "application/json"})
    assert 400 <= response.status_code < 500, response.text
    assert response.headers["content-type"] == PROBLEM


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/api/v1/audit", {"cursor": "!!!"}),
        ("/api/v1/audit", {"cursor": "AAAA"}),
        ("/api/v1/audit", {"cursor": "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"}),
        ("/api/v1/audit", {"limit": "0"}),
        ("/api/v1/audit", {"limit": "1e9"}),
        ("/api/v1/incidents/99999999999999999999999", {}),
        ("/api/v1/incidents/-1", {}),
        ("/api/v1/incidents/one", {}),
    ],
)
def test_hostile_parameters_are_refused(api: TestClient, path: str, parameters: dict[str, Any]) -> None:
    response = api.get(path, params=parameters)
    assert response.status_code in (400, 404, 422), response.text
    assert response.headers["content-type"] == PROBLEM


def test_a_text_that_no_database_can_store_is_refused(api: TestClient) -> None:
    response = api.post("/api/v1/collectors/tokens", json={"name": "nul \u0000 inside"})
    assert response.status_code in (400, 422)


def test_an_absent_database_is_503_and_says_when_to_retry(client: TestClient) -> None:
    nowhere = settings().model_copy(
        update={"database_url": SecretStr("postgresql://jitterscope_app:secret-word@127.0.0.1:9/jitterscope")}
    )
    with override_settings(nowhere):
        response = client.get("/api/v1/audit", headers={"Authorization": "Bearer jsa_x"})
        ready = client.get("/readyz")
    assert (response.status_code, response.headers["retry-after"]) == (503, "2")
    assert "secret-word" not in response.text
    assert (ready.status_code, ready.json()["checks"]["database"]) == (503, "does not answer")
    assert client.get("/readyz").status_code == 200


@pytest.mark.usefixtures("early_in_a_minute")
def test_without_valkey_sign_ins_are_counted_by_the_process(client: TestClient) -> None:
    with override_settings(settings().model_copy(update={"valkey_url": "redis://127.0.0.1:9/0"})):
        email = f"{secrets.token_hex(4)}@absent.example"
        tried = [
            client.post("/api/v1/auth/login", json={"email": email, "password": "x"}).status_code for _ in range(11)
        ]
        ready = client.get("/readyz")
    assert tried == [401] * 10 + [429]
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    assert ready.json()["checks"]["valkey"].startswith("does not answer. ")


def test_every_answer_carries_the_security_headers(client: TestClient) -> None:
    for path in ("/", "/healthz", "/api/v1/audit", "/api/v1/openapi.json"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "script-src 'self'" in headers["content-security-policy"]
        assert re.fullmatch("[0-9a-f]{16}", headers["x-request-id"])
    assert client.get("/api/v1/audit").headers["cache-control"] == "no-store"


def test_metrics_count_requests(client: TestClient) -> None:
    client.get("/api/v1/audit")
    text = generate_latest().decode()
    assert 'jitterscope_http_requests_total{method="GET",route="/api/v1/audit",status="401"}' in text


def test_invented_methods_make_no_series(client: TestClient) -> None:
    client.get("/api/v1/audit")
    client.request("INVENTED", "/api/v1/audit")
    before = len(generate_latest())
    for number in range(50):
        client.request(f"M{number}", "/api/v1/audit")
    text = generate_latest().decode()
    assert len(text) - before < 100
    assert 'method="other"' in text
    assert "M49" not in text


def test_metrics_are_served_on_a_listener_of_their_own(
    client: TestClient, settings_override: Callable[..., Settings]
) -> None:
    assert "jitterscope_http_requests_total" not in client.get("/metrics").text
    address = f"127.0.0.1:{free_port()}"
    settings_override(metrics_listen=address)
    with TestClient(create_app()):
        assert "jitterscope_http_requests_total" in httpx.get(f"http://{address}/metrics", timeout=60).text
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{address}/metrics", timeout=60)
