"""Servers, connections and forwarding of the DNS simulator: times are µs since the start of the run."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from jitterscope.diagnosis.core.query_results import NXDOMAIN, REFUSED, SERVFAIL
from jitterscope.diagnosis.core.snapshot import Event
from jitterscope.diagnosis.scenarios.dns.capture import Capture
from jitterscope.diagnosis.scenarios.dns.model import Hop, Name

Done = Callable[[float, int], None]  # (now, result)
IDLE_US = 1_000_000


class Clock:
    """Runs callbacks in order of time."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.count = 0

    def at(self, when: float, what: Callable[..., None], *args: Any) -> None:  # noqa: ANN401 - what the callback takes
        self.count += 1
        heapq.heappush(self.heap, (when, self.count, what, args))

    def number(self) -> int:
        self.count += 1
        return self.count


class Query:
    """One query on one leg: `key` distinguishes it from all others on the wire."""

    __slots__ = ("client", "key", "name")

    def __init__(self, key: int, name: Name, client: str) -> None:
        self.key, self.name, self.client = key, name, client


class Connection:
    """A TCP connection; `pending` are queries that the server has not begun, with their callbacks."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.accepted = self.closed = self.busy = False
        self.pending: deque[tuple[Query, Done]] = deque()
        self.last_data_us = 0.0
        self.idle_since_us = 0.0


class Asks(Protocol):
    """How a server queries the next one: see forward."""

    def ask(self, now: float, query: Query, done: Done) -> None: ...

    def end_of_tick(self, tick: int, now: float) -> None: ...


class Server:
    """One hop. UDP arrives at `sockets` readers; TCP at child processes if their number is limited."""

    def __init__(self, clock: Clock, hop: Hop, ticks: int, random: np.random.Generator) -> None:
        self.clock, self.hop, self.random = clock, hop, random
        self.capture = Capture(ticks)
        self.free_us = [0.0] * hop.sockets
        self.backlog: deque[Connection] = deque()
        self.accepted: list[Connection] = []
        self.errors: list[Event] = []
        self.allowance, self.allowance_at = 0.0, 0.0
        self.forwarder: Asks | None = None

    # --- UDP
    def datagram(self, now: float, query: Query, reply: Done) -> None:
        """A query over UDP, seen by the capture even if the socket has no room for it."""
        self.capture.seen(now, query.key, query.client)
        if self.hop.loss_ratio and self.random.random() < self.hop.loss_ratio:
            return
        socket = min(range(len(self.free_us)), key=self.free_us.__getitem__)
        start = max(now, self.free_us[socket])
        if (start - now) / max(self.hop.read_us, 1.0) > self.hop.buffer_queries:
            self.capture.add("dns_socket_drops", now)
            return
        for stop_s, seconds in self.hop.stops:
            if stop_s * 1e6 <= start < (stop_s + seconds) * 1e6:
                start = (stop_s + seconds) * 1e6
        self.free_us[socket] = start + self.hop.read_us

        def done(at: float, result: int) -> None:
            self.capture.answered(at, query.key, result, start - now)
            reply(at, result)

        self.clock.at(start + self.hop.read_us, self.handle, start + self.hop.read_us, query, done)

    # --- TCP
    def connect(self, now: float, client: str) -> Connection | None:
        """An established connection, accepted or not; None: the accept queue is full."""
        connection = Connection(client)
        connection.last_data_us = now
        if len(self.backlog) > self.hop.listen_backlog:
            self.capture.add("dns_listen_drops", now)
            self.capture.add("dns_listen_overflows", now)
            return None
        self.backlog.append(connection)
        self._accept(now)
        return connection

    def _accept(self, now: float) -> None:
        limit = self.hop.child_limit
        while self.backlog and (limit is None or len(self.accepted) < limit):
            connection = self.backlog.popleft()
            connection.accepted = True
            self.accepted.append(connection)
            self._next(now, connection)

    def segment(self, now: float, connection: Connection, query: Query, reply: Done) -> None:
        """A query on a connection, read once the connection is accepted and earlier queries are done."""
        self.capture.seen(now, query.key, query.client)
        connection.last_data_us = now
        connection.pending.append((query, reply))
        self._next(now, connection)

    def _next(self, now: float, connection: Connection) -> None:
        if not connection.accepted or connection.busy:
            return
        if not connection.pending:
            if connection.closed:
                self.accepted.remove(connection)
                self._accept(now)
            return
        query, reply = connection.pending.popleft()
        connection.busy = True

        def done(at: float, result: int) -> None:
            connection.busy = False
            if not connection.closed:
                connection.last_data_us = at
            self.capture.answered(at, query.key, result)
            reply(at, result)
            self._next(at, connection)

        self.handle(now, query, done)

    def closed(self, now: float, connection: Connection) -> None:
        """The client closed it; a server that has not accepted it does not know yet."""
        if not connection.closed:
            connection.closed = True
            self._next(now, connection)

    # --- answering
    def handle(self, now: float, query: Query, done: Done) -> None:
        hop, result = self.hop, query.name.result
        work = hop.work_us * (0.8 + 0.4 * self.random.random())
        if self.forwarder is not None:
            hit = self.random.random() < (hop.negative_cache_ratio if result == NXDOMAIN else hop.cache_ratio)
            kind = "dnsmasq" if hop.software == "dnsmasq" else "coredns"
            self.capture.add(f"{kind}_cache_{'hits' if hit else 'misses'}", now)
            if hit:
                self.clock.at(now + work, done, now + work, result)
            else:
                self.clock.at(now + work, self.forwarder.ask, now + work, query, done)
            return
        if not self._allowed(now):
            if hop.over == "drop":
                return
            refused = REFUSED if hop.over == "refused" else SERVFAIL
            self.clock.at(now + work, done, now + work, refused)
            return
        known = crc32(query.name.name.encode()) < hop.cache_ratio * 2**32  # per name: asking again does not help
        delay = work if known else work + self._delay_us(now)
        self.clock.at(now + delay, done, now + delay, result)

    def _allowed(self, now: float) -> bool:
        rate = self.hop.answers_per_s
        if rate is None:
            return True
        if self.hop.by_second:
            if now // 1e6 > self.allowance_at // 1e6 or not self.allowance_at:
                self.allowance = rate
        else:
            self.allowance = min(rate / 4, self.allowance + (now - self.allowance_at) * rate / 1e6)
        self.allowance_at = now
        if self.allowance < 1:
            return False
        self.allowance -= 1
        return True

    def _delay_us(self, now: float) -> float:
        hop = self.hop
        delay = hop.delay_us
        for start_s, seconds, other in hop.delays:
            if start_s * 1e6 <= now < (start_s + seconds) * 1e6:
                delay = other
        if hop.tail_ratio and self.random.random() < hop.tail_ratio:
            delay = hop.tail_us
        return delay * (0.95 + 0.1 * self.random.random())

    def end_of_tick(self, tick: int, now: float) -> None:
        capture = self.capture
        capture.end_of_tick(tick)
        known = [*self.accepted, *self.backlog]
        opened = [c for c in known if not c.closed]
        capture.gauge("dns_tcp_connections", tick, len(opened))
        capture.gauge("dns_tcp_close_wait", tick, len(known) - len(opened))
        idle = [c for c in opened if c.accepted and not c.busy and now - c.last_data_us > IDLE_US]
        capture.gauge("dns_tcp_idle", tick, len(idle))
        capture.gauge("dns_accept_backlog", tick, len(self.backlog))
        capture.gauge("process_children", tick, len(self.accepted) if self.hop.child_limit is not None else 0)
        if self.forwarder is not None:
            self.forwarder.end_of_tick(tick, now)
