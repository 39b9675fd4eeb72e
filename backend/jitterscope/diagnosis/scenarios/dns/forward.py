"""How a simulated server queries its upstream: a pool of expiring TCP connections, or UDP; attempts and a deadline."""

from __future__ import annotations

from jitterscope.diagnosis.core.query_results import REFUSED, SERVFAIL
from jitterscope.diagnosis.core.snapshot import Event
from jitterscope.diagnosis.scenarios.dns.model import Forward
from jitterscope.diagnosis.scenarios.dns.servers import IDLE_US, Connection, Done, Query, Server

SYN_RETRY_US = 1_000_000


class Forwarder:
    """Forwards like CoreDNS (plugin/pkg/proxy/persistent.go): unlimited connections; a cleanup closes idle ones."""

    def __init__(self, server: Server, upstream: Server) -> None:
        self.server, self.upstream = server, upstream
        forward = server.hop.forward
        self.forward = forward if forward is not None else Forward()
        self.idle: list[Connection] = []
        self.in_use: set[Connection] = set()
        self.asking = 0
        self.next_cleaning_us = self.forward.clean_s * 1e6

    def ask(self, now: float, query: Query, done: Done) -> None:
        limit = self.forward.max_concurrent
        if limit is not None and self.asking >= limit:
            self.server.capture.add("coredns_max_concurrent_rejects", now)
            done(now, REFUSED)
            return
        self.asking += 1
        _Attempts(self, now, query, done).start(now)

    def pooled(self, now: float) -> Connection | None:
        """An idle connection that has not expired; expired ones found on the way are closed."""
        limit = self.forward.expire_s * 1e6
        while self.idle:
            newest = self.forward.pool == "lifo"
            connection = self.idle.pop(-1 if newest else 0)
            if now - connection.idle_since_us <= limit:
                return connection
            # If the newest has expired, all have.
            expired = [connection, *self.idle] if newest else [connection]
            if newest:
                self.idle.clear()
            for one in expired:
                self.upstream.closed(now, one)
        return None

    def count(self, now: float, metric: str, amount: float = 1.0) -> None:
        if self.server.hop.software != "dnsmasq":
            self.server.capture.add(f"coredns_{metric}", now, amount)

    def end_of_tick(self, tick: int, now: float) -> None:
        if now >= self.next_cleaning_us:
            self.next_cleaning_us += self.forward.clean_s * 1e6
            limit = self.forward.expire_s * 1e6
            for connection in [c for c in self.idle if now - c.idle_since_us > limit]:
                self.idle.remove(connection)
                self.upstream.closed(now, connection)
        capture = self.server.capture
        capture.gauge("dns_upstream_connections", tick, len(self.idle) + len(self.in_use))
        lying = [*self.idle, *self.in_use]
        capture.gauge("dns_upstream_idle", tick, sum(now - c.last_data_us > IDLE_US for c in lying))


class _Attempts:
    """One forwarded query: attempts until an answer arrives or the deadline passes."""

    def __init__(self, forwarder: Forwarder, now: float, query: Query, done: Done) -> None:
        self.forwarder, self.query, self.done = forwarder, query, done
        self.began, self.attempt_began, self.over, self.attempt = now, now, False, 0
        self.connection: Connection | None = None
        self.client = forwarder.server.hop.address.rsplit(":", 1)[0]

    def start(self, now: float) -> None:
        owner = self.forwarder
        self.attempt += 1
        self.attempt_began = now
        query = Query(owner.server.clock.number(), self.query.name, self.client)
        if owner.forward.transport == "tcp":
            self._tcp(now, query)
        else:
            self._udp(now, query)
        if owner.server.hop.software != "dnsmasq":  # dnsmasq leaves retries to its client
            until = now + owner.forward.attempt_s * 1e6
            owner.server.clock.at(until, self._late, until, self.attempt)
        elif self.attempt == 1:
            until = now + 10e6
            owner.server.clock.at(until, self._late, until, 1)

    def _tcp(self, now: float, query: Query) -> None:
        owner, attempt = self.forwarder, self.attempt
        pooled = owner.pooled(now)
        if pooled is not None:
            connection = pooled
            owner.count(now, "conn_cache_hits")
        else:
            owner.count(now, "conn_cache_misses")
            opened = owner.upstream.connect(now, self.client)
            if opened is None:  # the SYN was dropped: sent again after 1 s
                owner.server.clock.at(now + SYN_RETRY_US, self._again, now + SYN_RETRY_US, attempt, query)
                return
            connection = opened
        self._send(now, connection, query, attempt)

    def _again(self, now: float, attempt: int, query: Query) -> None:
        if self.over or attempt != self.attempt:
            return
        opened = self.forwarder.upstream.connect(now, self.client)
        if opened is not None:
            self._send(now, opened, query, attempt)

    def _send(self, now: float, connection: Connection, query: Query, attempt: int) -> None:
        owner = self.forwarder
        self.connection = connection
        owner.in_use.add(connection)

        def reply(at: float, result: int) -> None:
            if connection.closed:
                return
            owner.in_use.discard(connection)
            connection.idle_since_us = at
            owner.idle.append(connection)
            self._answered(at, result, attempt)

        owner.upstream.segment(now, connection, query, reply)

    def _udp(self, now: float, query: Query) -> None:
        owner, attempt = self.forwarder, self.attempt
        lost = owner.forward.loss_ratio
        random = owner.server.random
        if lost and random.random() < lost:
            return

        def reply(at: float, result: int) -> None:
            if not (lost and random.random() < lost):
                self._answered(at, result, attempt)

        owner.upstream.datagram(now, query, reply)

    def _answered(self, now: float, result: int, attempt: int) -> None:
        if self.over or attempt != self.attempt:
            return
        owner = self.forwarder
        owner.count(now, "forward_requests")
        owner.count(now, "forward_time_us", now - self.attempt_began)
        if result == SERVFAIL:
            owner.count(now, "forward_errors")
        self._finish(now, result)

    def _late(self, now: float, attempt: int) -> None:
        if self.over or attempt != self.attempt:
            return
        owner = self.forwarder
        if self.connection is not None:
            owner.in_use.discard(self.connection)
            owner.upstream.closed(now, self.connection)
            self.connection = None
        owner.count(now, "forward_errors")
        if owner.server.hop.software == "dnsmasq":
            self.over = True  # it never answers
            owner.asking -= 1
        elif now - self.began >= owner.forward.deadline_s * 1e6 - 1:
            self._error(now)
            self._finish(now, SERVFAIL)
        else:
            self.start(now)

    def _finish(self, now: float, result: int) -> None:
        self.over = True
        self.forwarder.asking -= 1
        self.done(now, result)

    def _error(self, now: float) -> None:
        owner = self.forwarder
        verb = "dial tcp" if owner.forward.transport == "tcp" else "read udp"
        address = owner.upstream.hop.address
        line = f"[ERROR] plugin/errors: 2 {self.query.name.name} {self.query.name.type}: {verb} {address}: i/o timeout"
        owner.server.errors.append(
            Event("dns.error", int(now), 0, {"kind": "io_timeout", "count": "1", "upstream": address,
                                              "name": self.query.name.name, "line": line})
        )  # fmt: skip
