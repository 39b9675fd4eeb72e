"""SIGKILL of anything at any time during ingest: nothing is stored twice, lost, or sent twice."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from jitterscope.devstack.stack import COLLECTOR, Stack
from jitterscope.recordings import file
from jitterscope.recordings.replay import ReplayFailed, replay
from tests.chaos import harness

SECONDS = float(os.environ.get("JITTERSCOPE_CHAOS_SECONDS", "60"))
SEED = int(os.environ.get("JITTERSCOPE_CHAOS_SEED", "7"))
RECORDING = Path(__file__).parents[1] / "fixtures" / "recordings" / "coredns-gc-fault.jitterscope"
ACTIONS = {"opened", "escalated", "resolved", "reopened", "reclassified"}
# A starting collector scans its host before its first tick; here it does so while others start as well.
COLLECTOR_START_S = 5.0
# Ticks that a busy machine may miss in a row. A lost batch is at least five, and shows as a hole in the ledger.
BUSY_TICKS = 15


@pytest.fixture
def receiver() -> Iterator[harness.Receiver]:
    running = harness.Receiver()
    yield running
    running.close()


@pytest.fixture
def stack() -> Iterator[Stack]:
    assert COLLECTOR.exists(), "run `make build` first"
    with tempfile.TemporaryDirectory(prefix="jitterscope-chaos-", ignore_cleanup_errors=True) as folder:
        environment = {"JITTERSCOPE_NOTIFY_ALLOW_PRIVATE_TARGETS": "true", "JITTERSCOPE_NOTIFY_TIMEOUT_S": "5"}
        with Stack(Path(folder), owner_pid=os.getpid(), environment=environment) as running:
            yield running


class Feeder(threading.Thread):
    """Feeds the recording of a fault, each time as another node, and resolves the incident by hand once it is open."""

    def __init__(self, stack: Stack, token: str, client: httpx.Client) -> None:
        super().__init__(daemon=True)
        self.nodes: list[str] = []
        self.failures: list[Exception] = []
        self._stack, self._token, self._client = stack, token, client
        self._nodes: dict[int, str] = {}
        self._stop_now = threading.Event()

    def run(self) -> None:
        recording = file.load(RECORDING)
        try:
            for number in itertools.count():
                suffix = f"-chaos-{number}"
                try:
                    replay(recording, self._stack.url, self._token, speed=0, key_suffix=suffix)
                except ReplayFailed:
                    continue  # if others take the CPU, a killed service is away for longer than this waits
                self.nodes.append(recording.resources[0].key + suffix)
                _wait(lambda suffix=suffix: self._resolve(suffix), 150, f"the incident of node {suffix}")
                if self._stop_now.is_set():
                    return
        except Exception as error:
            self.failures.append(error)

    def _resolve(self, suffix: str) -> bool:
        """Whether the node's incident is resolved by now. Resolving twice has no further effect."""
        for one in _incidents(self._client):
            if self._node_of(int(one["subject"]["resource_id"])).endswith(suffix):
                if one["state"] != "resolved":
                    self._client.post(f"/incidents/{one['id']}/resolve").raise_for_status()
                return True
        return False

    def _node_of(self, resource_id: int) -> str:
        if resource_id not in self._nodes:
            response = self._client.get(f"/resources/{resource_id}")
            response.raise_for_status()
            self._nodes[resource_id] = str(response.json()["node"]["key"])
        return self._nodes[resource_id]

    def finish(self) -> list[str]:
        """The nodes it fed: at least one."""
        self._stop_now.set()
        self.join(300)
        assert not self.is_alive()
        assert self.failures == []
        return self.nodes


@pytest.mark.timeout(600)
def test_kill_anything(stack: Stack, receiver: harness.Receiver) -> None:
    headers = {"Authorization": f"Bearer {stack.create_api_token()}"}
    with httpx.Client(base_url=f"{stack.url}/api/v1", headers=headers, timeout=30) as client:
        _kill_anything(stack, receiver, client)


def _kill_anything(stack: Stack, receiver: harness.Receiver, client: httpx.Client) -> None:
    channel = _add_channel(client, receiver.url)
    node_id = _wait(lambda: next(iter(_nodes(client)), None), 60, "the collector's node")
    begin_us = time.time_ns() // 1000
    feeder = Feeder(stack, stack.create_ingest_token(), client)
    feeder.start()
    killer = harness.Killer(stack, SEED)
    killer.rage(SECONDS)
    end_us = time.time_ns() // 1000
    _say("killed:", ", ".join(f"{name} at {at - begin_us / 1e6:.1f} s" for at, name in killer.deaths))
    assert {name for _, name in killer.deaths} == set(harness.VICTIMS)
    nodes = feeder.finish()

    _every_tick_once(stack, client, node_id, begin_us, end_us, killer)
    _everything_told_once(client, channel, receiver, nodes)


def _every_tick_once(
    stack: Stack, client: httpx.Client, node_id: int, begin_us: int, end_us: int, killer: harness.Killer
) -> None:
    def caught_up() -> bool:
        now_us = time.time_ns() // 1000
        stored = [tick for tick, _ in harness.ticks_stored(stack, node_id, end_us, now_us + 1_000_000)]
        return bool(stored) and _holes_in_ledger(stack) == []

    _wait(caught_up, 120, "the spooled batches", lambda: f"holes in the ledger: {_holes_in_ledger(stack)}")
    stored = harness.ticks_stored(stack, node_id, begin_us, end_us)
    ticks = [tick for tick, _ in stored]
    assert len(ticks) == len(set(ticks)), "a tick is stored twice"
    assert all(value == tick & 0x7FFFFFFF for tick, value in stored), "a tick is stored as another one"
    holes = harness.gaps(ticks)
    unexplained = [hole for hole in holes if harness.outside(hole, killer.downtimes, COLLECTOR_START_S) > BUSY_TICKS]
    down_s = sum(end - begin for begin, end in killer.downtimes)
    _say(f"{len(ticks)} ticks stored of {(end_us - begin_us) // harness.TICK_US}, collector down {down_s:.1f} s")
    assert unexplained == []
    assert [one["dropped_batches"] for one in _collectors(client) if one["node"]["id"] == node_id] == [0]


def _holes_in_ledger(stack: Stack) -> list[tuple[int, int]]:
    """The collector's spool has by far the most batches; every number up to its newest must be there."""
    sequences = max(harness.sequences_stored(stack).values(), key=len)
    return harness.gaps([0, *sequences])


def _say(*parts: str) -> None:
    """Print into the captured output, which pytest shows with -s or if the test fails."""
    print(*parts)  # noqa: T201


def _everything_told_once(client: httpx.Client, channel: int, receiver: harness.Receiver, nodes: list[str]) -> None:
    def settled() -> bool:
        return bool(client.get(f"/channels/{channel}").json()["pending"] == 0)

    _wait(settled, 180, "an empty outbox")
    time.sleep(5)  # a second delivery would come late, not early
    # This machine's own stalls also make incidents, at any time: everything is read while none comes.
    while True:
        got = harness.told(receiver.bodies)
        mine = [client.get(f"/incidents/{one['id']}").json() for one in _incidents(client)]
        time.sleep(1)
        if got == harness.told(receiver.bodies):
            break
    assert len(mine) >= len(nodes)
    assert client.get(f"/channels/{channel}").json()["dead"] == 0
    expected = harness.transitions_of(mine, ACTIONS)
    _say(f"{len(mine)} incidents, {expected.total()} transitions, {got.total()} notifications")
    assert expected.total() >= 2 * len(nodes)  # opened and resolved
    assert got == expected


def _incidents(client: httpx.Client) -> list[dict[str, Any]]:
    response = client.get("/incidents", params={"limit": 200})
    response.raise_for_status()
    return list(response.json()["items"])


def _add_channel(client: httpx.Client, url: str) -> int:
    request = {
        "kind": "webhook",
        "name": "chaos",
        "config": {"url": url, "secret": "0123456789abcdef"},
        "min_severity": "info",
        "actions": sorted(ACTIONS),
    }
    response = client.post("/channels", json=request)
    assert response.status_code == 201, response.text
    return int(response.json()["id"])


def _nodes(client: httpx.Client) -> list[int]:
    return [int(one["node"]["id"]) for one in _collectors(client)]


def _collectors(client: httpx.Client) -> Iterator[dict[str, Any]]:
    """All of them: on a fast machine there are more nodes than a page has."""
    cursor: str | None = ""
    while cursor is not None:
        page = client.get("/collectors", params={"cursor": cursor} if cursor else {}).json()
        yield from page["items"]
        cursor = page["next_cursor"]


def _wait(ready: Any, patience_s: float, what: str, instead: Any = lambda: "") -> Any:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            found = ready()
            if found:
                return found
        except (httpx.HTTPError, OSError, KeyError, ValueError):
            pass  # something is starting up again
        assert time.monotonic() < deadline, f"no sign of {what} after {patience_s:.0f} s. {instead()}"
        time.sleep(0.5)
