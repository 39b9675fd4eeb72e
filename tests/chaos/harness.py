"""Parts of the chaos test: a webhook receiver, a killer, and what the database contains afterwards."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg

from jitterscope.devstack.stack import Stack

TICK_US = 100_000
VICTIMS = ("api", "worker", "postgres", "valkey", "collector")


class Receiver:
    """A real HTTP webhook receiver that keeps every body and answers 200."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.bodies.append(json.loads(body))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass
class Killer:
    """Kills random programs of a stack. `deaths`: (when in s, program); `downtimes` of the collector in s."""

    stack: Stack
    seed: int
    deaths: list[tuple[float, str]] = field(default_factory=list)
    downtimes: list[tuple[float, float]] = field(default_factory=list)

    def rage(self, seconds: float) -> None:
        """Every program dies at least once, the rest is random."""
        chance = random.Random(self.seed)
        end = time.time() + seconds
        due = list(VICTIMS)
        chance.shuffle(due)
        while time.time() < end:
            self.kill(due.pop() if due else chance.choice(VICTIMS))
            time.sleep(chance.uniform(1.5, 5.0))

    def kill(self, name: str) -> None:
        pid = self.stack.pids().get(name)
        if pid is None:
            return  # not up again yet
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            self.deaths.append((time.time(), name))
        if name == "collector":
            self.downtimes.append((time.time(), self._reborn_at(name, pid)))

    def _reborn_at(self, name: str, old: int) -> float:
        deadline = time.time() + 30
        while time.time() < deadline:
            if self.stack.pids().get(name, old) != old:
                return time.time()
            time.sleep(0.02)
        raise AssertionError(f"{name} was not started again")


def ticks_stored(stack: Stack, node_id: int, from_us: int, to_us: int) -> list[tuple[int, int]]:
    """(tick number, stored value of collector_tick) of every stored tick, as plain SQL sees it."""
    with psycopg.connect(stack.database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('jitterscope.organization_id', %s, false)", (str(stack.organization_id),))
        rows = connection.execute(
            "SELECT round(extract(epoch FROM time) * 10)::bigint, value::bigint FROM series_between(%s, "
            "'collector_tick', to_timestamp(%s), to_timestamp(%s)) ORDER BY 1",
            (node_id, from_us / 1e6, to_us / 1e6),
        ).fetchall()
    return [(int(tick), int(value)) for tick, value in rows]


def sequences_stored(stack: Stack) -> dict[bytes, list[int]]:
    """Numbers of the stored batches by spool."""
    with psycopg.connect(stack.database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('jitterscope.organization_id', %s, false)", (str(stack.organization_id),))
        rows = connection.execute("SELECT spool_id, sequence FROM ingest_batches ORDER BY sequence").fetchall()
    found: dict[bytes, list[int]] = {}
    for spool, sequence in rows:
        found.setdefault(bytes(spool), []).append(int(sequence))
    return found


def gaps(ticks: list[int]) -> list[tuple[int, int]]:
    """(first missing tick, last missing tick) of every hole between the first and the last tick."""
    return [(one + 1, two - 1) for one, two in itertools.pairwise(ticks) if two - one > 1]


def outside(hole: tuple[int, int], downtimes: list[tuple[float, float]], start_s: float) -> int:
    """How many ticks of a hole lie outside every downtime; a collector may take `start_s` to start."""
    first, last = hole
    return sum(
        not any(begin - 0.2 <= tick / 10 <= end + start_s for begin, end in downtimes)
        for tick in range(first, last + 1)
    )


def transitions_of(incidents: list[dict[str, Any]], actions: set[str]) -> Counter[tuple[int, str, str]]:
    """(incident, action, time) of every transition that a channel for `actions` must send, from REST histories."""
    return Counter(
        (int(one["id"]), str(step["action"]), str(step["at"]))
        for one in incidents
        for step in one["history"]
        if step["action"] in actions
    )


def told(bodies: list[dict[str, Any]]) -> Counter[tuple[int, str, str]]:
    """The same from what the receiver got."""
    return Counter(
        (int(body["incident"]["id"]), str(body["transition"]["action"]), str(body["transition"]["at"]))
        for body in bodies
    )
