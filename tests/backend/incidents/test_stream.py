"""Live events over a real HTTP server."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi.testclient import TestClient

from jitterscope.cache import valkey
from jitterscope.events.publish import publish
from jitterscope.incidents.api import endpoints_stream
from jitterscope.main import create_app
from jitterscope.recordings.model import Recording
from jitterscope.settings import Settings
from jitterscope.tenancy import auth, tokens
from tests.backend.tenancy.principals import Cast, bearer
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.fixture
def url(service: Any) -> Iterator[str]:
    """The application behind uvicorn: a test client cannot read an endless response."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(), host="127.0.0.1", port=port, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_S
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/api/v1/events/stream"
    server.should_exit = True
    server.force_exit = True
    thread.join(10)


class Listener:
    """Reads events in the background."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.events: list[dict[str, Any]] = []
        self.lines: list[str] = []
        self.status = 0
        self._stop = False
        self.over = False
        self._thread = threading.Thread(target=self._run, args=(url, headers), daemon=True)
        self._thread.start()

    def _run(self, url: str, headers: dict[str, str]) -> None:
        try:
            self._read(url, headers)
            self.over = True
        except httpx.TransportError:
            if not self._stop:  # a server that goes away after the test is irrelevant
                raise

    def _read(self, url: str, headers: dict[str, str]) -> None:
        with httpx.Client(timeout=30) as client, client.stream("GET", url, headers=headers) as response:
            self.status = response.status_code
            for line in response.iter_lines():
                self.lines.append(line)
                if line.startswith("data:"):
                    self.events.append(json.loads(line[5:]))
                if self._stop:
                    return

    def wait(self, count: int, timeout_s: float = PATIENCE_S) -> list[dict[str, Any]]:
        deadline = time.monotonic() + timeout_s
        while len(self.events) < count:
            assert time.monotonic() < deadline, self.events
            time.sleep(0.02)
        return self.events

    def close(self) -> None:
        self._stop = True


def test_changes_arrive_and_missed_ones_are_told_again(
    service: Any, gc_fault: Recording, url: str, organization: Any, other_organization: Any
) -> None:
    listener = Listener(url, organization.headers)
    theirs = Listener(url, other_organization.headers)
    assert listener.wait(1)[0] == {"type": "ready", "id": 0, "missed": 0}
    theirs.wait(1)
    service.diagnose(service.feed(gc_fault))
    number = service.get("/incidents")["items"][0]["id"]
    mine = [event for event in _until(listener, "incident") if event["type"] == "incident"]
    assert (mine[0]["id"], mine[0]["action"]) == (number, "opened")
    assert f"id: {mine[0]['transition_id']}" in listener.lines
    service.post(f"/incidents/{number}/acknowledge")
    listener.close()
    publish(organization.id, "first_data", 7)  # wakes the listener up to notice that it is closed
    again = Listener(url, organization.headers | {"Last-Event-ID": str(mine[0]["transition_id"])})
    ready, missed = again.wait(2)[:2]
    assert ready["missed"] == 1
    assert (missed["id"], missed["action"]) == (number, "acknowledged")
    again.close()
    publish(organization.id, "collector", 8)
    assert [event["type"] for event in theirs.events] == ["ready"], "another organization hears nothing"
    publish(other_organization.id, "collector", 9)
    theirs.close()


def test_the_first_data_of_a_node_are_told_once(service: Any, healthy: Recording, url: str, organization: Any) -> None:
    listener = Listener(url, organization.headers)
    listener.wait(1)
    service.feed(healthy)
    service.feed(healthy, ends_us=time.time_ns() // 1000 - 100_000_000)
    publish(organization.id, "collector", 1)
    told = [event["type"] for event in _until(listener, "collector")]
    assert told == ["ready", "first_data", "collector"]
    listener.close()
    publish(organization.id, "collector", 2)


def test_a_stream_needs_a_caller(url: str) -> None:
    assert httpx.get(url, timeout=60).status_code == 401


def _end(listener: Listener, organization_id: int) -> None:
    """Wait for the server to end the stream."""
    publish(organization_id, "collector", 1)
    deadline = time.monotonic() + PATIENCE_S
    while not listener.over:
        assert time.monotonic() < deadline, listener.events
        time.sleep(0.02)


@pytest.mark.parametrize("how", ["revoked", "demoted", "signed out"])
def test_a_stream_ends_with_its_credentials(
    url: str, client: TestClient, database: Any, organization: Any, how: str
) -> None:
    cast = Cast(database, organization)
    user = cast.member("admin")
    token = cast.token(user, "incidents:read")
    headers = cast.session(user) if how == "signed out" else bearer(token)
    listener = Listener(url, headers)
    listener.wait(1)
    publish(organization.id, "first_data", 5)
    listener.wait(2)
    match how:
        case "revoked":
            listed = client.get("/api/v1/tokens", headers=organization.headers).json()["items"]
            number = next(one["id"] for one in listed if one["name"] == "cast")
            assert client.delete(f"/api/v1/tokens/{number}", headers=organization.headers).status_code == 200
        case "demoted":
            cast.administer("DELETE FROM memberships WHERE user_id = %s", user)
        case _:
            assert client.post("/api/v1/auth/logout", headers=headers).status_code == 204
    _end(listener, organization.id)
    assert [event["type"] for event in listener.events] == ["ready", "first_data"], "nothing after the end"
    assert httpx.get(url, headers=headers, timeout=60).status_code == 401


def test_many_events_and_streams_of_a_caller_cost_few_look_ups(
    url: str, organization: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []

    def caller_of(request: Any) -> Any:
        asked.append(time.monotonic())
        return auth.caller_of(request)

    monkeypatch.setattr(endpoints_stream, "caller_of", caller_of)
    listeners = [Listener(url, organization.headers) for _ in range(4)]
    for listener in listeners:
        listener.wait(1)
    began = time.monotonic()
    for number in range(100):
        publish(organization.id, "collector", number)
    for listener in listeners:
        assert [event["id"] for event in listener.wait(101)[1:]] == list(range(100))
    took_s = time.monotonic() - began
    assert len([at for at in asked if at >= began]) <= took_s + 2
    for listener in listeners:
        listener.close()
    publish(organization.id, "collector", 1000)


def test_a_caller_has_so_many_streams_and_no_more(
    url: str, organization: Any, database: Any, settings_override: Callable[..., Settings]
) -> None:
    settings_override(streams_per_caller=3)
    listeners = [Listener(url, organization.headers) for _ in range(3)]
    for listener in listeners:
        listener.wait(1)
    refused = httpx.get(url, headers=organization.headers, timeout=60)
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:jitterscope:problem:too-many-streams")
    assert int(refused.headers["retry-after"]) > 0
    cast = Cast(database, organization)
    another = Listener(url, cast.session(cast.member("viewer")))
    another.wait(1)  # other subscribers are not affected
    for listener in [*listeners, another]:
        listener.close()
    publish(organization.id, "collector", 1)
    deadline = time.monotonic() + PATIENCE_S
    while valkey().zcard(f"jitterscope:streams:token {_token_id(organization)}"):
        assert time.monotonic() < deadline, "closed streams keep their places"
        time.sleep(0.05)


def _token_id(organization: Any) -> int:
    found = tokens.principal_of(organization.api_token)
    assert found is not None
    assert found.token_id is not None
    return found.token_id


def _until(listener: Listener, type: str) -> list[dict[str, Any]]:
    deadline = time.monotonic() + PATIENCE_S
    while not any(event["type"] == type for event in listener.events):
        assert time.monotonic() < deadline, listener.events
        time.sleep(0.02)
    return listener.events
