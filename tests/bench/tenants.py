# ruff: noqa: T201
"""make bench-tenants: random expensive requests of four concurrent principals, beside another organization.

The product runs as `make up` runs it, without a collector; `jitterscope replay --loop` sends recordings as nodes of
four organizations. Two principals of one organization, one of them with the widest windows possible, and one each of
two others send as many requests as they can over several connections, from a separate program. A reader of the fourth
requests what the pages of the UI request, at a steady pace. Printed: the reader's waits before, during, and after that
(its incidents last longer then, and so do their timelines), the others' answers, and the memory of each program
(proportional set size of its processes), read each second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitterscope.devstack.stack import Stack
from jitterscope.tenancy import founding

RECORDINGS = Path(__file__).resolve().parents[1] / "fixtures" / "recordings"
REPLAYED = ("coredns-gc-fault", "search-domains-fault", "nodelocal-dnsmasq-fault", "coredns-gc-healthy")
PROGRAMS = ("api", "worker", "beat", "postgres", "valkey")
CONNECTIONS = 8  # of each principal
PACE_S = 0.25
HOUR_S = 3600.0
_AROUND_S = 10.0  # the attack outlasts what is measured by this much, and its last requests are answered in that time
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Known:
    """What an organization has, as its own reader sees it."""

    resources: list[dict[str, Any]]
    incidents: list[int]
    metrics: list[str]

    def any(self, *kinds: str) -> int:
        return int(random.choice([one for one in self.resources if not kinds or one["kind"] in kinds])["id"])


@dataclass(slots=True)
class Asked:
    """Answers to one principal."""

    statuses: Counter[str] = field(default_factory=Counter)
    by_path: dict[str, list[float]] = field(default_factory=dict)

    def note(self, path: str, status: str, took_s: float) -> None:
        self.statuses[status] += 1
        self.by_path.setdefault(path, []).append(took_s)

    @property
    def seconds(self) -> list[float]:
        return [one for took in self.by_path.values() for one in took]


Request = tuple[str, str, dict[str, Any]]


def expensive(known: Known, widest: bool) -> Request:
    """Method, path, and parameters of one expensive request."""

    def within(most_s: float) -> dict[str, str]:
        width = most_s if widest else random.uniform(30, most_s)
        to = time.time() - (0.0 if widest else random.uniform(0, 600))
        return {"from": str(int((to - width) * 1e6)), "to": str(int(to * 1e6))}

    node = {"node": known.any("node")}
    made: list[Callable[[], Request]] = [
        lambda: ("GET", "/recordings", {"resource": [one["id"] for one in known.resources[:20]], **within(HOUR_S)}),
        lambda: ("GET", "/dns/path", node | within(HOUR_S / 4)),
        lambda: ("GET", "/dns/affected", node | within(HOUR_S / 4)),
        lambda: ("GET", "/dns/names", node | within(HOUR_S)),
        lambda: ("GET", "/dns/clients", node | within(HOUR_S)),
        lambda: ("GET", "/pod-starts", node | within(HOUR_S)),
        lambda: (
            "GET",
            "/series/query",
            {"resource": known.any(), "metric": known.metrics, "points": 5000, **within(24 * HOUR_S)},
        ),
        lambda: ("GET", f"/resources/{known.any()}/timeline", within(24 * HOUR_S)),
        lambda: ("GET", f"/resources/{known.any()}/events", within(HOUR_S)),
        lambda: ("GET", f"/resources/{known.any()}/diagnosis", within(HOUR_S)),
        lambda: ("GET", "/risks", {}),
    ]  # fmt: skip
    if known.incidents:
        made.append(lambda: ("GET", f"/incidents/{random.choice(known.incidents)}/timeline", {}))
    return random.choice(made)()


def of_a_page(known: Known, turn: int) -> Request:
    """What the UI requests, page after page."""
    incident = known.incidents[turn % len(known.incidents)]
    pages: list[Request] = [
        ("GET", "/incidents", {"limit": 50}),
        ("GET", f"/incidents/{incident}", {}),
        ("GET", f"/incidents/{incident}/timeline", {}),
        ("GET", "/resources", {"limit": 50}),
        ("GET", "/collectors", {}),
        ("GET", "/risks", {}),
        ("GET", "/series/query", {"resource": known.any("node"), "metric": known.metrics[:2], "points": 500}),
    ]
    return pages[turn % len(pages)]


async def send(client: httpx.AsyncClient, request: Request, asked: Asked) -> None:
    method, path, parameters = request
    began = time.monotonic()
    status = "?"
    try:
        async with client.stream(method, f"/api/v1{path}", params=parameters) as answer:
            status = str(answer.status_code)
            async for _ in answer.aiter_raw():
                pass
    except httpx.HTTPError as error:
        status = f"{status} {type(error).__name__}"
    asked.note("/".join("*" if part.isdigit() else part for part in path.split("/")), status, time.monotonic() - began)


@asynccontextmanager
async def running(*loops: Any) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def attack(client: httpx.AsyncClient, known: Known, widest: bool, asked: Asked) -> None:
    while True:
        await send(client, expensive(known, widest), asked)


async def read_pages(client: httpx.AsyncClient, known: Known, seconds: float) -> Asked:
    """Read pages at a steady pace, however long answers take."""
    asked, began, waiting = Asked(), time.monotonic(), set()
    for turn in range(int(seconds / PACE_S)):
        await asyncio.sleep(max(0.0, began + turn * PACE_S - time.monotonic()))
        waiting.add(asyncio.create_task(send(client, of_a_page(known, turn), asked)))
        waiting = {one for one in waiting if not one.done()}
    await asyncio.gather(*waiting)
    return asked


def pss_bytes(pid: int) -> int:
    """Proportional set size of a process and its living children."""
    total = 0
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        total += sum(pss_bytes(int(child)) for child in children)
    return total


async def watch_memory(pids: dict[str, int], seen: dict[str, list[int]]) -> None:
    while True:
        for name, found in (
            await asyncio.to_thread(lambda: {one: pss_bytes(pid) for one, pid in pids.items()})
        ).items():
            seen.setdefault(name, []).append(found)
        await asyncio.sleep(1)


async def known_of(client: httpx.AsyncClient) -> Known:
    async def items(path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (
            (await client.get(f"/api/v1{path}", params={"limit": 100})).raise_for_status().json()["items"]
        )
        return found

    metrics = [
        "cpu_usage_us",
        "cpu_throttled_us",
        "memory_usage_bytes",
        "gc_cycles",
        "dns_queries",
        "host_system_us",
    ]
    return Known(await items("/resources"), [int(one["id"]) for one in await items("/incidents")], metrics)


def told(asked: Asked) -> str:
    answers = ", ".join(f"{count} × {status}" for status, count in sorted(asked.statuses.items()))
    return f"{len(asked.seconds):>7} answers, {_figures(asked.seconds)}: {answers}"


def _figures(seconds: list[float]) -> str:
    p50, p99, most = np.percentile(seconds, (50, 99, 100)) * 1e3
    return f"p50 {p50:>6.0f} ms, p99 {p99:>6.0f} ms, max {most:>6.0f} ms"


def client_of(url: str, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120)


async def _attacked(url: str, tokens: dict[str, str], seconds: float) -> dict[str, Asked]:
    asked, loops = {name: Asked() for name in tokens}, []
    async with AsyncExitStack() as closing:
        for name, token in tokens.items():
            client = await closing.enter_async_context(client_of(url, token))
            known = await known_of(client)
            loops += [attack(client, known, name == "widest windows", asked[name]) for _ in range(CONNECTIONS)]
        async with running(*loops):
            await asyncio.sleep(seconds)
    return asked


def attackers(url: str, tokens: dict[str, str], seconds: float, answers: Queue[dict[str, Asked]]) -> None:
    """A separate program: the reader does not wait for the answers that it receives."""
    answers.put(asyncio.run(_attacked(url, tokens, seconds)))


async def measure(stack: Stack, organizations: list[int], arguments: argparse.Namespace) -> dict[str, Any]:
    first, second, third, readers = organizations
    whose = {"widest windows": first, "its colleague": first, "second": second, "third": third}
    tokens = {name: stack.create_api_token(organization) for name, organization in whose.items()}
    seen: dict[str, list[int]] = {}
    pids = {name: pid for name, pid in stack.pids().items() if name in PROGRAMS}
    spawned = get_context("spawn")
    answers: Queue[dict[str, Asked]] = spawned.Queue()
    attack_s = arguments.seconds + _AROUND_S
    attacking = spawned.Process(target=attackers, args=(stack.url, tokens, attack_s, answers))
    async with client_of(stack.url, stack.create_api_token(readers)) as reader:
        known = await known_of(reader)
        before = await read_pages(reader, known, arguments.calm)
        attacking.start()
        async with running(watch_memory(pids, seen)):
            attacked = await read_pages(reader, known, arguments.seconds)
        asked = await asyncio.to_thread(answers.get, timeout=300)
        await asyncio.to_thread(attacking.join)
        await asyncio.sleep(_AROUND_S)
        after = await read_pages(reader, known, arguments.calm)
    windows = {"before": before, "attacked": attacked, "after": after}
    for name, window in windows.items():
        print(f"reader, {name:<9}{told(window)}")
        for path, seconds in sorted(window.by_path.items(), key=lambda one: -max(one[1])):
            print(f"  {path:<24}{_figures(seconds)}")
    ratio = np.percentile(attacked.seconds, 99) / np.percentile(before.seconds + after.seconds, 99)
    print(f"its p99 is {ratio:.2f} times that of both calms")
    for name, one in asked.items():
        print(f"{name:<20}{told(one)}")
    print("memory in MiB: at first, most, in the last minute at most")
    for name, values in seen.items():
        print(f"  {name:<10}{values[0] / _MIB:>8.0f}{max(values) / _MIB:>8.0f}{max(values[-60:]) / _MIB:>8.0f}")
    return {"p99_ratio": float(ratio), "memory_bytes": {name: max(values) for name, values in seen.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="of the attack")
    parser.add_argument("--calm", type=float, default=120.0, help="seconds before it, and again after it")
    parser.add_argument("--warm-up", type=float, default=180.0, help="seconds of data before both")
    parser.add_argument("--nodes", type=int, default=2, help="of each organization")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(prefix="jitterscope-tenants-")))
        stack = closing.enter_context(Stack(folder / "state", collector=False, durable=False, owner_pid=os.getpid()))
        organizations = [
            founding.found_organization(
                stack.owner_database_url, f"Tenant {number}", f"admin{number}@example.org", secrets.token_urlsafe(16)
            ).organization_id
            for number in range(4)
        ]
        for organization in organizations:
            token = folder / f"token-{organization}"
            token.write_text(stack.create_ingest_token(organization))
            command = [sys.executable, "-c", "from jitterscope.cli import app; app()", "replay"]
            command += [str(RECORDINGS / f"{name}.jitterscope") for name in REPLAYED]
            command += [
                "--loop",
                "--nodes",
                str(arguments.nodes),
                "--to-service",
                stack.url,
                "--token-file",
                str(token),
            ]
            replayer = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
            closing.callback(replayer.wait, timeout=30)
            closing.callback(os.killpg, replayer.pid, signal.SIGTERM)
        time.sleep(arguments.warm_up)
        found = asyncio.run(measure(stack, organizations, arguments))
    if arguments.json:
        arguments.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
