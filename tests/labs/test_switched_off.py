"""A real collector and a real API whose organization switches request timing off and on again; needs root."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sqlalchemy import text

from jitterscope import db
from jitterscope.series import service as series
from labs import built
from tests.backend.conftest import Database, Organization, database, make_organization, organization, servers
from tests.support.batches import TICK_US, now_us
from tests.support.patience import wait_for
from tests.support.serving import serving

__all__ = ["database", "make_organization", "organization", "servers"]  # fixtures


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def asked() -> Iterator[None]:
    """A plaintext HTTP server that constantly gets requests."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ended = threading.Event()

        def ask() -> None:
            while not ended.wait(0.02):
                urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/users/7", timeout=30).close()

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            yield
        finally:
            ended.set()
            asking.join()
            server.shutdown()


class Stored:
    """What the API stored from the collector."""

    def __init__(self, organization: Organization) -> None:
        self._organization, self._from_us = organization, now_us() - 1_000_000

    def ticks(self, kind: str, metric: str) -> set[int]:
        """Times of ticks (µs) that have a value for any resource of that kind."""
        with db.organization_session(self._organization.id) as session:
            query = text("SELECT id FROM resources WHERE kind = :kind")
            ids = [int(one) for one in session.execute(query, {"kind": kind}).scalars()]
            found = series.read_series(session, ids, [metric], self._from_us, now_us() + TICK_US)
        return {self._from_us + int(tick) * TICK_US for values in found.values() for tick in np.flatnonzero(values > 0)}

    def column(self, query: str) -> list[Any]:
        with db.organization_session(self._organization.id) as session:
            return list(session.execute(text(query)).scalars())

    def state(self) -> tuple[str, str]:
        found = self.column(
            "SELECT ARRAY[state, detail] FROM collector_sources WHERE name = 'tcp_requests' "
        )  # one collector
        return (found[0][0], found[0][1]) if found else ("", "")

    def starts(self) -> int:
        return len(self.column("SELECT 1 FROM events WHERE kind = 'collector.start'"))


def test_a_collector_stops_reading_and_begins_again(
    database: Database, organization: Organization, tmp_path: Path
) -> None:
    stored = Stored(organization)
    with serving() as url, asked():
        collector = subprocess.Popen(
            [
                built.program("jitterscope-collector", "JITTERSCOPE_COLLECTOR"), "run", "--server", url,
                "--spool-dir", str(tmp_path / "spool"), "--sources", "self,cgroup_cpu,tcp_requests",
                "--real-time=false",
            ],
            env={**os.environ, "JITTERSCOPE_TOKEN": organization.ingest_token},
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

        def switch(*off: str) -> None:
            answer = httpx.put(
                f"{url}/api/v1/collection", headers=organization.headers, json={"off": list(off)}, timeout=60
            )
            assert answer.status_code == 200, answer.text

        def wait(what: str, condition: Callable[[], bool]) -> None:
            wait_for(lambda: condition() or collector.poll() is not None, what)
            assert collector.poll() is None, collector.communicate()[1]

        try:
            wait("requests", lambda: bool(stored.ticks("tcp_server", "requests")))
            switch("tcp_requests")
            wait("the collector to say so", lambda: stored.state()[1] == "switched off by the organization")
            while_off = max(stored.ticks("node", "collector_tick"))
            wait("more ticks", lambda: max(stored.ticks("node", "collector_tick")) > while_off)
            assert max(stored.ticks("tcp_server", "requests")) < while_off
            # As if a minute had passed since it restarted.
            os.utime(tmp_path / "spool" / "sources-off", (0, 0))
            on_again = max(stored.ticks("node", "collector_tick"))
            switch()
            wait("requests again", lambda: max(stored.ticks("tcp_server", "requests")) > on_again)
            assert not [tick for tick in stored.ticks("tcp_server", "requests") if while_off <= tick <= on_again]
            assert stored.state()[0] != "unavailable"
            assert stored.starts() == 3
        finally:
            collector.send_signal(signal.SIGTERM)
            said = collector.communicate(timeout=60)[1]
    assert collector.returncode == 0, said
    assert said.count("starting anew") == 2
    sent = sorted(stored.column("SELECT sequence FROM ingest_batches"))
    assert sent == list(range(1, len(sent) + 1)), "a batch is missing"
