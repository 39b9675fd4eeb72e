"""What drills share: the product with a collector on this machine, a page in a browser, and what is reported where."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx
import psycopg
from playwright.sync_api import Page, expect

from jitterscope.devstack.ports import free_port
from jitterscope.devstack.stack import COLLECTOR, Stack
from tests.chaos import harness
from tests.e2e.conftest import sign_in

Found = TypeVar("Found")
PROGRAMS = ("api", "worker", "beat", "collector")
# Other suites might share the machine: waiting longer is never a wrong result.
PATIENCE_S = 90.0
# Ticks that a busy machine may miss in a row; the ledger shows a lost batch.
BUSY_TICKS = 20


@dataclass
class Drill:
    """A running product. `begin_us`: when its first batch was stored."""

    stack: Stack
    client: httpx.Client
    metrics_url: str
    node_id: int = 0
    begin_us: int = 0
    _sizes: dict[str, int] = field(default_factory=dict)

    def readyz(self) -> tuple[int, dict[str, Any]]:
        """Status and body of the API's /readyz."""
        response = self.client.get(f"{self.stack.url}/readyz")
        return response.status_code, response.json()

    def collector(self, name: str) -> float:
        """One of the collector's own metrics."""
        page = self.client.get(f"{self.metrics_url}/metrics").text
        found = re.search(rf"^jitterscope_collector_{re.escape(name)} (\S+)$", page, re.MULTILINE)
        assert found is not None, page
        return float(found[1])

    def ingest(self) -> httpx.Response:
        """The answer that a collector gets for an invalid batch: a service that works returns 400."""
        headers = {"Authorization": f"Bearer {self.stack.state.collector_token.read_text().strip()}"}
        return self.client.post("/ingest", content=b"none", headers=headers)

    def mark(self) -> None:
        """Logs are read from here on."""
        self._sizes = {name: self._size(name) for name in PROGRAMS}

    def logged(self, program: str) -> list[dict[str, Any]]:
        """Lines of a program's log since `mark`."""
        text = self.stack.log(program).read_bytes()[self._sizes[program] :].decode(errors="replace")
        lines = [line for line in text.splitlines() if line.startswith("{")]
        return [json.loads(line) for line in lines]

    def events(self, program: str, event: str) -> list[dict[str, Any]]:
        """The lines about one event."""
        return [line for line in self.logged(program) if event in (line.get("event"), line.get("msg"))]

    def complaints(self) -> list[str]:
        """Lines of any program with a traceback or an error since `mark`."""
        lines = [line for program in PROGRAMS for line in self.logged(program)]
        return [
            f"{line.get('logger')}: {str(line)[:300]}"
            for line in lines
            if "exception" in line or str(line["level"]).lower() == "error"
        ]

    def every_tick_once(self) -> int:
        """All ticks from the first batch to now are stored once each when the spool is empty; returns their number."""
        end_us = time.time_ns() // 1000
        # The ledger's last batch covers the end.
        wait(lambda: bool(harness.ticks_stored(self.stack, self.node_id, end_us, end_us + 60_000_000)), "later ticks")
        wait(lambda: self.collector("spool_batches") <= 2, "an empty spool")
        stored = self._rows(end_us)
        ticks = [tick for tick, _ in stored]
        assert len(ticks) == len(set(ticks)), "a tick is stored twice"
        assert all(value == tick & 0x7FFFFFFF for tick, value in stored), "a tick is stored as another one"
        assert [(first, last) for first, last in harness.gaps(ticks) if last - first >= BUSY_TICKS] == []
        sequences = max(harness.sequences_stored(self.stack).values(), key=len)
        assert harness.gaps([0, *sequences]) == []
        return len(ticks)

    def sources(self) -> dict[str, tuple[str, str]]:
        """State and detail by source, as the page Collectors shows them."""
        (row,) = self.client.get("/collectors").json()["items"]
        return {one["name"]: (one["state"], one["detail"]) for one in row["sources"]}

    def _rows(self, end_us: int) -> list[tuple[int, int]]:
        """Tick numbers and values as they are in the tables: unlike series_between, the view shows duplicate ticks."""
        with psycopg.connect(self.stack.owner_database_url, autocommit=True) as connection:
            connection.execute(
                "SELECT set_config('jitterscope.organization_id', %s, false)", (str(self.stack.organization_id),)
            )
            rows = connection.execute(
                "SELECT round(extract(epoch FROM time) * 10)::bigint, value::bigint FROM series_samples "
                "WHERE resource_id = %s AND metric = 'collector_tick' AND step_us = 100000 "
                "AND time >= to_timestamp(%s) AND time < to_timestamp(%s) ORDER BY 1",
                (self.node_id, self.begin_us / 1e6, end_us / 1e6),
            ).fetchall()
        return [(int(tick), int(value)) for tick, value in rows]

    def _size(self, program: str) -> int:
        log = self.stack.log(program)
        return log.stat().st_size if log.exists() else 0


@contextmanager
def running(
    folder: Path, *, arguments: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Drill]:
    """The product with a collector that has sent its first batches."""
    assert COLLECTOR.exists(), "run `make build` first"
    port = free_port()
    listen = ("--metrics-listen", f"127.0.0.1:{port}", *arguments)
    with (
        Stack(folder, owner_pid=os.getpid(), collector_arguments=listen, environment=environment) as stack,
        httpx.Client(
            base_url=f"{stack.url}/api/v1",
            headers={"Authorization": f"Bearer {stack.create_api_token()}"},
            timeout=60,
        ) as client,
    ):
        drill = Drill(stack, client, f"http://127.0.0.1:{port}")
        first = wait(lambda: client.get("/collectors").json()["items"], "the first batch")
        drill.node_id = int(first[0]["node"]["id"])
        drill.begin_us = time.time_ns() // 1000
        drill.mark()
        yield drill


def watch(drill: Drill, page: Page) -> None:
    """Sign in; the page stays open during what follows."""
    sign_in(page, drill.stack)
    expect(page.get_by_text("live", exact=True)).to_be_visible()


def banner(page: Page, text: str) -> None:
    """The page shows it without being reloaded."""
    expect(page.get_by_role("alert").filter(has_text=text)).to_be_visible()


def calm(page: Page) -> None:
    """The page shows no problem with the service, and gets updates again."""
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_text("live", exact=True)).to_be_visible()


def wait(ready: Callable[[], Found | None], what: str) -> Found:
    """Wait for the first truthy answer."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if found := ready():
                return found
        except (httpx.HTTPError, OSError, KeyError, ValueError):
            pass  # something is starting up again
        assert time.monotonic() < deadline, f"no sign of {what} after {PATIENCE_S:.0f} s"
        time.sleep(0.25)
