"""Resource bounds of each route: declared next to it and enforced for all.

    @router.get("/dns/path")
    @bounded(HEAVY)
    def get_dns_path(…)

A cost class limits how many requests a caller, an organization, and the process answer at once, the memory that one
request may hold, and its time. A request above its caller's limits waits for its turn (`slots`). A request that cannot
wait gets 429, or 503 if other callers keep the process busy. An application with an unbounded route does not start.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from starlette.types import Scope

from jitterscope.bulk import Bulk, Elsewhere
from jitterscope.kit import allowance
from jitterscope.kit.allowance import Allowance
from jitterscope.kit.networks import network_of
from jitterscope.slots import Bound, Caller, Slots

_MIB = 1024 * 1024
Endpoint = TypeVar("Endpoint", bound=Callable[..., object])
Found = TypeVar("Found")

# A few rows by key.
QUICK = Bound("quick", 32 * _MIB, 20, 16, 24, 40, 200, 15)
# Series of a window, reduced to the points of a chart.
CHART = Bound("chart", 96 * _MIB, 30, 6, 8, 10, 100, 20, expensive=True)
# Calls another service several times while the caller waits.
REMOTE = Bound("remote", 32 * _MIB, 45, 2, 4, 16, 8, 20)
# Everything stored about a node in a window, and models over it.
HEAVY = Bound("heavy", 256 * _MIB, 30, 2, 3, 4, 16, 20, expensive=True)
# The same amount, piece by piece: the memory is that of one piece.
STREAMED = Bound("streamed", 256 * _MIB, 600, 2, 3, 4, 4, 20, expensive=True)
# One batch; its own limits (ingest_max_batch_bytes) bound its memory. All collectors of a cluster may share a token.
INGEST = Bound("ingest", 256 * _MIB, 60, 8, 8, 12, 1000, 30, body_bytes=None)
# A file that goes to disk as it arrives.
UPLOAD = Bound("upload", 32 * _MIB, 3600, 2, 4, 16, 2, 20, body_bytes=None)
# Server-sent events: the client keeps the connection.
EVENTS = Bound("events", 4 * _MIB, 20 * 60, 20, 200, 1000, 0, 0, threads=False)
# A password check: argon2 takes 64 MiB for each.
SIGN_IN = Bound("sign in", 64 * _MIB, 30, 4, 8, 8, 50, 20, anonymous=True)
# A button pressed in a chat, whose service gives us 3 s. All organizations come from its few networks. The endpoint
# takes the slot once it has read the body, so that one that arrives slowly keeps none.
PRESS = Bound("press", 16 * _MIB, 10, 8, 8, 16, 100, 2, body_bytes=256 * 1024)
# What a shared link shows. Its own class: holders of links take no slots from members.
SHARED = Bound("shared", 96 * _MIB, 30, 3, 4, 6, 20, 20)
# Small answers for callers without credentials.
OPEN = Bound("open", 8 * _MIB, 20, 16, 32, 32, 256, 15, anonymous=True)
# Files of the UI and the collector: whoever reads slowly keeps a slot and about 200 KB, and only others that read files
# wait for it.
FILES = Bound("files", 1 * _MIB, 120, 64, 1024, 1024, 256, 30, anonymous=True, threads=False)
# Probes, each with slots of its own: nothing else may make a process look dead.
ALIVE = Bound("alive", 1 * _MIB, 5, 1000, 1000, 1000, 0, 0, anonymous=True, threads=False)
READY = Bound("ready", 8 * _MIB, 20, 4, 8, 8, 64, 5, anonymous=True)
# Finding out who is calling, before the slot of the route: whoever sends wrong credentials takes no more than this.
CREDENTIALS = Bound("credentials", 1 * _MIB, 20, 12, 24, 24, 500, 10)

ALL = (
    QUICK, CHART, REMOTE, HEAVY, STREAMED, INGEST, UPLOAD, EVENTS, SIGN_IN, PRESS, SHARED, OPEN, FILES, ALIVE, READY,
    CREDENTIALS,
)  # fmt: skip
# Every request that computes in a thread gets one at once: none waits for a thread that another class keeps.
THREADS = sum(one.of_process for one in ALL if one.threads) + 8


def bounded(bound: Bound) -> Callable[[Endpoint], Endpoint]:
    """Declare the bound of an endpoint."""

    def declare(endpoint: Endpoint) -> Endpoint:
        endpoint.__bound__ = bound  # type: ignore[attr-defined]
        return endpoint

    return declare


class Unbounded(RuntimeError):
    """A route declares no bound."""


def check(router: APIRouter) -> None:
    """Raise Unbounded if a route of the router has no bound: the application does not start with it."""
    for route in router.routes:
        if bound_of(getattr(route, "endpoint", None)) is None:
            raise Unbounded(f"{getattr(route, 'path', route)} needs @bounded(…) of jitterscope.bounds")


def bound_of(endpoint: object) -> Bound | None:
    """The declared bound of an endpoint, if any."""
    found = getattr(endpoint, "__bound__", None)
    return found if isinstance(found, Bound) else None


@dataclass(slots=True)
class Held:
    """The slot of a request, and when its time is up on the event loop's clock."""

    bound: Bound
    caller: Caller
    slots: Slots
    ends: float


async def enter(request: Request, caller: Caller) -> None:
    """Take the slot that the request's route declares, and limit its memory and time.

    Raises Problem, and Elsewhere if another process answers the request.
    """
    bound = bound_of(request.scope.get("endpoint"))
    state = request.scope.setdefault("state", {})
    if bound is None or "held" in state:
        return
    lane: Bulk | None = request.app.state.bulk
    if lane is not None and bound.expensive:
        state["lane"] = lane, caller.organization_id
        if lane.takes(caller.organization_id):
            raise Elsewhere(request)
    slots: Slots = request.app.state.slots
    await slots.take(bound, caller)
    state["held"] = Held(bound, caller, slots, asyncio.get_running_loop().time() + bound.seconds)
    allowance.grant(Allowance.of(bound.memory_bytes, bound.seconds))


async def enter_by_network(request: Request) -> None:
    """As `enter`, for a caller without credentials."""
    await enter(request, _network(request))


async def look_up(request: Request, find: Callable[[Request], Found]) -> Found:
    """Find out who is calling, in a thread. Raises what `find` raises, and Problem 429 or 503."""
    slots: Slots = request.app.state.slots
    network = _network(request)
    await slots.take(CREDENTIALS, network)
    try:
        return await run_in_threadpool(find, request)
    finally:
        slots.give_back(CREDENTIALS, network)


def _network(request: Request) -> Caller:
    return Caller(f"network {network_of(request.client.host if request.client else 'unknown')}")


async def enter_if_anonymous(request: Request) -> None:
    """As `enter_by_network`; does nothing for other routes, which know more about their caller."""
    bound = bound_of(request.scope.get("endpoint"))
    if bound is not None and bound.anonymous:
        await enter_by_network(request)


def holds_slot(scope: Scope) -> bool:
    """Whether the request has entered: its bound limits its time."""
    return "held" in scope.get("state", {})


@asynccontextmanager
async def in_time(scope: Scope) -> AsyncIterator[None]:
    """Raise TooLong if the block is still running when the request's time is up.

    A client that barely reads or writes must not keep a slot.
    """
    held: Held | None = scope.get("state", {}).get("held")
    if held is None:
        yield
        return
    try:
        async with asyncio.timeout_at(held.ends):
            yield
    except TimeoutError:
        raise allowance.TooLong(held.bound.seconds) from None


def leave(scope: Scope) -> None:
    """Release the slot of a request that is over: its body is sent or cut off."""
    held: Held | None = scope.get("state", {}).pop("held", None)
    if held is not None:
        held.slots.give_back(held.bound, held.caller)
    lane, organization_id = scope.get("state", {}).pop("lane", (None, None))
    if lane is not None:
        lane.leaves(organization_id)
