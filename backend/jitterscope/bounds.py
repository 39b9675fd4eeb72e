"""Resource bounds of each route: declared next to it and enforced for all.

    @router.get("/dns/path")
    @bounded(HEAVY)
    def get_dns_path(…)

A cost class limits how many requests a caller, an organization, and the process answer at once, the memory that one
request may hold, and its time. A request above its caller's limits waits for its turn. A request that cannot wait gets
429, or 503 if other callers keep the process busy. An application with an unbounded route does not start.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import structlog
from fastapi import APIRouter, Request
from prometheus_client import Counter as Metric
from prometheus_client import Gauge
from starlette.types import Scope

from jitterscope.bulk import Bulk, Elsewhere
from jitterscope.errors import Problem
from jitterscope.kit import allowance
from jitterscope.kit.allowance import Allowance

log = structlog.get_logger(__name__)

_MIB = 1024 * 1024
RUNNING = Gauge("jitterscope_requests_running", "Requests that hold a slot of their class", ["bound"])
REFUSED = Metric("jitterscope_requests_refused_total", "Requests refused because a limit was met", ["bound", "limit"])

Endpoint = TypeVar("Endpoint", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Bound:
    """A cost class. Concurrent requests: `of_caller` per user or token, `of_organization`, and `of_process` in total.

    `memory_bytes` is how much stored data one request may hold, `seconds` its total time, including sending. Up to
    `waiting` requests of one caller wait, each for at most `waits_s`. `body_bytes` limits the request body; None if the
    route counts the bytes itself. `anonymous`: for callers without credentials, distinguished by address. `expensive`:
    goes to the bulk lane if its organization keeps such requests running.
    """

    name: str
    memory_bytes: int
    seconds: float
    of_caller: int
    of_organization: int
    of_process: int
    waiting: int
    waits_s: float
    anonymous: bool = False
    body_bytes: int | None = _MIB
    expensive: bool = False


# A few rows by key.
QUICK = Bound("quick", 32 * _MIB, 20, 16, 24, 40, 200, 15)
# Series of a window, reduced to the points of a chart.
CHART = Bound("chart", 96 * _MIB, 30, 6, 8, 10, 100, 20, expensive=True)
# Calls another service several times while the caller waits.
REMOTE = Bound("remote", 32 * _MIB, 45, 2, 4, 8, 8, 20)
# Everything stored about a node in a window, and models over it.
HEAVY = Bound("heavy", 256 * _MIB, 30, 2, 3, 4, 16, 20, expensive=True)
# The same amount, piece by piece: the memory is that of one piece.
STREAMED = Bound("streamed", 256 * _MIB, 600, 2, 3, 4, 4, 20, expensive=True)
# One batch; its own limits (ingest_max_batch_bytes) bound its memory. All collectors of a cluster may share a token.
INGEST = Bound("ingest", 256 * _MIB, 60, 8, 8, 12, 1000, 30, body_bytes=None)
# A file that goes to disk as it arrives.
UPLOAD = Bound("upload", 32 * _MIB, 3600, 2, 4, 8, 2, 20, body_bytes=None)
# Server-sent events: the client keeps the connection.
EVENTS = Bound("events", 4 * _MIB, 20 * 60, 20, 200, 1000, 0, 0)
# A password check: argon2 takes 64 MiB for each.
SIGN_IN = Bound("sign in", 64 * _MIB, 30, 4, 8, 8, 50, 20, anonymous=True)
# A button pressed in a chat, whose service gives us 3 s. All organizations come from its few addresses.
PRESS = Bound("press", 16 * _MIB, 10, 16, 16, 16, 100, 2, anonymous=True, body_bytes=256 * 1024)
# What a shared link shows. Its own class: holders of links take no slots from members.
SHARED = Bound("shared", 96 * _MIB, 30, 3, 4, 6, 20, 20)
# Probes and the UI's files.
OPEN = Bound("open", 8 * _MIB, 60, 64, 256, 256, 256, 30, anonymous=True)


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


@dataclass(frozen=True, slots=True)
class Caller:
    """Who takes slots: a user, a token, or an address, and its organization."""

    identity: str
    organization_id: int | None = None


@dataclass(slots=True)
class _Class:
    """The taken slots of one bound and the callers waiting for one, first come, first served."""

    total: int = 0
    callers: Counter[Caller] = field(default_factory=Counter)
    organizations: Counter[int | None] = field(default_factory=Counter)
    queue: list[tuple[Caller, asyncio.Future[None]]] = field(default_factory=list)

    def limit(self, bound: Bound, caller: Caller) -> str | None:
        """The limit that currently keeps the caller out; None if it can enter."""
        if self.callers[caller] >= bound.of_caller:
            return "caller"
        if caller.organization_id is not None and self.organizations[caller.organization_id] >= bound.of_organization:
            return "organization"
        return "process" if self.total >= bound.of_process else None

    def take(self, caller: Caller, count: int = 1) -> None:
        self.total += count
        for counter, key in ((self.callers, caller), (self.organizations, caller.organization_id)):
            counter[key] += count  # type: ignore[index]
            if not counter[key]:  # type: ignore[index]
                del counter[key]


class Slots:
    """The slots of one process. Used only from its event loop."""

    def __init__(self) -> None:
        self._classes: dict[str, _Class] = {}

    async def take(self, bound: Bound, caller: Caller) -> None:
        """Wait for a slot. Raises Problem 429 or 503."""
        state = self._classes.setdefault(bound.name, _Class())
        limit = state.limit(bound, caller)
        if limit is not None:
            if sum(waiting == caller for waiting, _ in state.queue) >= bound.waiting:
                raise _refused(bound, limit)
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            state.queue.append((caller, turn))
            try:
                await asyncio.wait((turn,), timeout=bound.waits_s)
            except asyncio.CancelledError:
                if turn.done():  # the turn came as the client left
                    self._leave(bound, state, caller)
                raise
            finally:
                state.queue = [one for one in state.queue if one[1] is not turn]
            if not turn.done():
                raise _refused(bound, state.limit(bound, caller) or limit)
        else:
            state.take(caller)
        RUNNING.labels(bound.name).set(state.total)

    def give_back(self, bound: Bound, caller: Caller) -> None:
        """Release the slot of a request that is over."""
        self._leave(bound, self._classes[bound.name], caller)

    @staticmethod
    def _leave(bound: Bound, state: _Class, caller: Caller) -> None:
        state.take(caller, -1)
        for waiting, turn in list(state.queue):
            if not turn.done() and state.limit(bound, waiting) is None:
                state.take(waiting)
                turn.set_result(None)
        RUNNING.labels(bound.name).set(state.total)


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


async def enter_by_address(request: Request) -> None:
    """As `enter`, for routes without credentials; does nothing for other routes, which know more about their caller."""
    bound = bound_of(request.scope.get("endpoint"))
    if bound is not None and bound.anonymous:
        await enter(request, Caller(f"address {request.client.host if request.client else 'unknown'}"))


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


def _refused(bound: Bound, limit: str) -> Problem:
    REFUSED.labels(bound.name, limit).inc()
    retry = {"Retry-After": str(max(1, round(bound.waits_s / 4)))}
    if limit == "process":
        return Problem(
            503, "busy", "Too busy", f"All {bound.of_process} slots for such requests are in use.",
            "Try again after the seconds in Retry-After.", headers=retry,
        )  # fmt: skip
    most, whose = (
        (bound.of_caller, "this user, token or address")
        if limit == "caller"
        else (bound.of_organization, "this organization")
    )
    return Problem(
        429, "too-many-at-once", "Too many requests at once",
        f"At most {most} such requests of {whose} run at once, and only a limited number can wait.",
        "Send fewer requests at once, and try again after the seconds in Retry-After.", headers=retry,
    )  # fmt: skip
