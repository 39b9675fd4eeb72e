"""The slots of a process: how many requests of a class run at once, and whose is next.

Organizations take turns, and within an organization its callers: one that sends many requests waits for its own, not
others for it. The last slot is for an organization that has none, so that a few with long requests cannot keep the rest
out. Taking, waiting, and leaving take constant time, however many wait.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TypeAlias

from prometheus_client import Counter as Metric
from prometheus_client import Gauge

from jitterscope.errors import Problem

RUNNING = Gauge("jitterscope_requests_running", "Requests that hold a slot of their class", ["bound"])
REFUSED = Metric("jitterscope_requests_refused_total", "Requests refused because a limit was met", ["bound", "limit"])

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bound:
    """A cost class. Concurrent requests: `of_caller` per user or token, `of_organization`, and `of_process` in total.

    `memory_bytes` is how much stored data one request may hold, `seconds` its total time, including sending. Up to
    `waiting` requests of one caller wait, and twice as many of its organization, each for at most `waits_s`.
    `body_bytes` limits the request body; None if the route counts the bytes itself. `anonymous`: for callers without
    credentials, distinguished by network. `expensive`: goes to the bulk lane if its organization keeps such requests
    running. `threads`: its requests compute in threads, not only on the event loop.
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
    threads: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """Who takes slots: a user, a token, or a network, and its organization."""

    identity: str
    organization_id: int | None = None

    @property
    def line(self) -> int | str:
        """Those with whom it shares a turn: its organization, or itself without one."""
        return self.identity if self.organization_id is None else self.organization_id


_Turn: TypeAlias = "asyncio.Future[None]"


@dataclass(slots=True)
class _Line:
    """The waiting requests of one organization. `ready`: its callers below their own limit, the next one first."""

    waiting: dict[Caller, OrderedDict[_Turn, None]] = field(default_factory=dict)
    ready: OrderedDict[Caller, None] = field(default_factory=OrderedDict)
    length: int = 0


@dataclass(slots=True)
class _Class:
    """The taken slots of one bound, and who waits for one.

    `ready`: lines below their limits, the next one first. `for_last`: those of them that may take the last slot.
    """

    total: int = 0
    callers: Counter[Caller] = field(default_factory=Counter)
    organizations: Counter[int] = field(default_factory=Counter)
    lines: dict[int | str, _Line] = field(default_factory=dict)
    ready: OrderedDict[int | str, None] = field(default_factory=OrderedDict)
    for_last: OrderedDict[int | str, None] = field(default_factory=OrderedDict)

    def limit(self, bound: Bound, caller: Caller) -> str | None:
        """The limit that currently keeps the caller out; None if it can enter."""
        if self.callers[caller] >= bound.of_caller:
            return "caller"
        if self._full(bound, caller):
            return "organization"
        return "process" if self.total >= bound.of_process - self._kept(bound, caller) else None

    def take(self, bound: Bound, caller: Caller) -> None:
        """Count a slot that the caller takes."""
        self._count(caller, 1)
        self._place(bound, caller)

    def give_back(self, bound: Bound, caller: Caller) -> None:
        """Count a slot as free, and give free ones to those whose turn it is."""
        self._count(caller, -1)
        self._place(bound, caller)
        while (first := self._next(bound)) is not None:
            line = self.lines[first]
            next_caller = next(iter(line.ready))
            turn = next(iter(line.waiting[next_caller]))
            self.leave_line(bound, next_caller, turn, served=True)
            self.take(bound, next_caller)
            turn.set_result(None)

    def stand_in_line(self, bound: Bound, caller: Caller) -> _Turn | None:
        """What is done once it is the caller's turn; None if too many of its requests wait."""
        line = self.lines.get(caller.line) or _Line()
        turns = line.waiting.get(caller) or OrderedDict()
        if len(turns) >= bound.waiting or line.length >= 2 * bound.waiting:
            return None
        turn: _Turn = asyncio.get_running_loop().create_future()
        turns[turn] = None
        line.waiting[caller] = turns
        line.length += 1
        self.lines[caller.line] = line
        self._place(bound, caller)
        return turn

    def leave_line(self, bound: Bound, caller: Caller, turn: _Turn, *, served: bool = False) -> None:
        """Wait no longer. `served`: the caller and its organization go to the end of the turns."""
        line = self.lines[caller.line]
        del line.waiting[caller][turn]
        line.length -= 1
        if not line.waiting[caller]:
            del line.waiting[caller]
        if served:
            line.ready.pop(caller, None)
            self.ready.pop(caller.line, None)
            self.for_last.pop(caller.line, None)
        self._place(bound, caller)

    def _next(self, bound: Bound) -> int | str | None:
        """The line whose turn it is; None if no slot is free for those that wait."""
        for lines, most in ((self.ready, bound.of_process - 1), (self.for_last, bound.of_process)):
            if lines and self.total < most:
                return next(iter(lines))
        return None

    def _place(self, bound: Bound, caller: Caller) -> None:
        """Whether the caller and its organization can be next, after something changed about them."""
        line = self.lines.get(caller.line)
        if line is None:
            return
        if caller in line.waiting and self.callers[caller] < bound.of_caller:
            line.ready.setdefault(caller)
        else:
            line.ready.pop(caller, None)
        can_enter = line.ready and not self._full(bound, caller)
        for lines, has_turns in ((self.ready, can_enter), (self.for_last, can_enter and not self._kept(bound, caller))):
            if has_turns:
                lines.setdefault(caller.line)
            else:
                lines.pop(caller.line, None)
        if not line.waiting:
            del self.lines[caller.line]

    def _full(self, bound: Bound, caller: Caller) -> bool:
        return caller.organization_id is not None and self._taken(caller) >= bound.of_organization

    def _kept(self, bound: Bound, caller: Caller) -> int:
        """How many slots are kept from the caller for those that have none. No matter if it may take all by itself."""
        most = bound.of_caller if caller.organization_id is None else bound.of_organization
        return int(self._taken(caller) > 0 and most < bound.of_process)

    def _taken(self, caller: Caller) -> int:
        """The slots of all that share the caller's turns."""
        return self.callers[caller] if caller.organization_id is None else self.organizations[caller.organization_id]

    def _count(self, caller: Caller, by: int) -> None:
        self.total += by
        self.callers[caller] += by
        if not self.callers[caller]:
            del self.callers[caller]
        if caller.organization_id is not None:
            self.organizations[caller.organization_id] += by
            if not self.organizations[caller.organization_id]:
                del self.organizations[caller.organization_id]


class Slots:
    """The slots of one process. Used only from its event loop."""

    def __init__(self) -> None:
        self._classes: dict[str, _Class] = {}

    async def take(self, bound: Bound, caller: Caller) -> None:
        """Wait for a slot. Raises Problem 429 or 503."""
        state = self._classes.setdefault(bound.name, _Class())
        limit = state.limit(bound, caller)
        if limit is None:
            state.take(bound, caller)
        else:
            await self._wait(bound, state, caller, limit)
        RUNNING.labels(bound.name).set(state.total)

    def give_back(self, bound: Bound, caller: Caller) -> None:
        """Release the slot of a request that is over."""
        state = self._classes[bound.name]
        state.give_back(bound, caller)
        RUNNING.labels(bound.name).set(state.total)

    async def _wait(self, bound: Bound, state: _Class, caller: Caller, limit: str) -> None:
        turn = state.stand_in_line(bound, caller)
        if turn is None:
            raise _refused(bound, limit)
        try:
            await asyncio.wait((turn,), timeout=bound.waits_s)
        except asyncio.CancelledError:
            if turn.done():  # the turn came as the client left
                self.give_back(bound, caller)
            else:
                state.leave_line(bound, caller, turn)
            raise
        if not turn.done():
            state.leave_line(bound, caller, turn)
            raise _refused(bound, state.limit(bound, caller) or limit)


def _refused(bound: Bound, limit: str) -> Problem:
    REFUSED.labels(bound.name, limit).inc()
    retry = {"Retry-After": str(max(1, round(bound.waits_s / 4)))}
    if limit == "process":
        return Problem(
            503, "busy", "Too busy",
            f"All {bound.of_process} slots for such requests are in use, or kept for organizations that use none.",
            "Try again after the seconds in Retry-After.", headers=retry,
        )  # fmt: skip
    most, whose = (
        (bound.of_caller, "this user, token or network")
        if limit == "caller"
        else (bound.of_organization, "this organization")
    )
    return Problem(
        429, "too-many-at-once", "Too many requests at once",
        f"At most {most} such requests of {whose} run at once, and only a limited number can wait.",
        "Send fewer requests at once, and try again after the seconds in Retry-After.", headers=retry,
    )  # fmt: skip
