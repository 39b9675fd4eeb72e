"""Bodies that arrive before their sender is known: bounded in time, and in memory over all of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPResponse
from urllib.parse import urlsplit

import httpx
import pytest

from jitterscope import bodies
from tests.support.patience import wait_for
from tests.support.serving import serving

LOGIN = "/api/v1/auth/login"
MIB = 1024 * 1024


@pytest.fixture
def url(client: object) -> Iterator[str]:
    with serving() as url:
        yield url


def begin(url: str, sent: int, length: int = MIB) -> socket.socket:
    """A connection that has sent part of a body."""
    parts = urlsplit(url)
    connection = socket.create_connection((str(parts.hostname), parts.port or 80), timeout=30)
    head = f"POST {LOGIN} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    connection.sendall(head.encode() + b" " * sent)
    return connection


def answer(connection: socket.socket) -> tuple[int, bytes]:
    """The status and body of the response, which comes before the request is complete."""
    response = HTTPResponse(connection)
    response.begin()
    return response.status, response.read()


def sign_in(url: str, size: int = 0) -> int:
    """The status of a sign-in with a wrong password, with `size` bytes of spaces around it."""
    content = b'{"email": "a@example.org", "password": "wrong password"}' + b" " * size
    headers = {"Content-Type": "application/json"}
    return httpx.post(f"{url}{LOGIN}", content=content, headers=headers, timeout=30).status_code


def test_a_body_that_does_not_arrive_is_given_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MOST_S", 0.5)
    began = time.monotonic()
    with begin(url, MIB - 1) as connection:
        status, content = answer(connection)
    assert status == 503
    assert b"took-too-long" in content
    assert time.monotonic() - began < 20
    wait_for(lambda: bodies.HELD._value.get() == 0)


def test_bodies_that_do_not_end_hold_no_more_than_their_budget(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_MOST_OF_NETWORK", 2 * MIB)
    with ExitStack() as stack:
        held = [stack.enter_context(begin(url, MIB - 1)) for _ in range(2)]
        while bodies.HELD._value.get() < 1.9 * MIB:
            time.sleep(0.05)
        with begin(url, 200_000) as refused:
            status, content = answer(refused)
        assert status == 503
        assert b"urn:jitterscope:problem:busy" in content
        assert sign_in(url, size=100_000) == 503
        assert sign_in(url) == 401, "ordinary requests are smaller than what counts"
        for one in held:
            one.close()
    wait_for(lambda: bodies.HELD._value.get() == 0)
    assert sign_in(url, size=100_000) == 401


def test_one_network_does_not_keep_out_others() -> None:
    budget = bodies.Bodies()
    budget.change("192.0.2.0/24", bodies._MOST_OF_NETWORK)
    assert not budget.fits("192.0.2.0/24", 1)
    assert budget.fits("198.51.100.0/24", bodies._MOST_OF_NETWORK)


def test_a_body_larger_than_its_route_takes_is_refused_before_its_end(url: str) -> None:
    with begin(url, MIB + 1, 2 * MIB) as connection:
        assert answer(connection)[0] == 413
