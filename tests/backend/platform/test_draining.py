"""After SIGTERM the API answers for a while and closes kept connections with an answer, never under a request."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.patience import PATIENCE_S

DRAIN_S = 1.5


@pytest.fixture
def port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def draining(port: int, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """The API, as the image starts it."""
    command = (sys.executable, "-m", "uvicorn", "--factory", "jitterscope.main:create_app", "--port", str(port))
    environment = {**os.environ, "JITTERSCOPE_DRAIN_SECONDS": str(seconds)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as api:
        try:
            yield api
        finally:
            api.kill()


def connected(port: int) -> http.client.HTTPConnection:
    """A connection on which one request has been answered."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        try:
            assert asked(connection) is None
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        else:
            return connection


def asked(connection: http.client.HTTPConnection) -> str | None:
    """The header Connection of an answer."""
    connection.request("GET", "/healthz")
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200
    return answer.getheader("Connection")


def test_kept_and_new_connections_are_answered_until_a_second_sigterm(port: int) -> None:
    with draining(port, 600) as api:
        kept = connected(port)
        api.send_signal(signal.SIGTERM)
        while (told := asked(kept)) is None:  # the signal is on its way
            time.sleep(0.01)
        assert told == "close"
        fresh = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        assert asked(fresh) == "close"
        api.send_signal(signal.SIGTERM)
        api.wait(timeout=PATIENCE_S)


def test_it_ends_after_its_time(port: int) -> None:
    with draining(port, DRAIN_S) as api:
        connected(port).close()
        began = time.monotonic()
        api.send_signal(signal.SIGTERM)
        api.wait(timeout=PATIENCE_S)
        assert time.monotonic() - began >= DRAIN_S
