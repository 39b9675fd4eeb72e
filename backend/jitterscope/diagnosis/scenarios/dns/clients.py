"""Clients of the DNS simulator, and the run itself."""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise

import numpy as np

from jitterscope.diagnosis.core.query_results import NXDOMAIN, SERVFAIL
from jitterscope.diagnosis.scenarios.dns.capture import TICK_US
from jitterscope.diagnosis.scenarios.dns.forward import Forwarder
from jitterscope.diagnosis.scenarios.dns.model import DnsLoad, Name
from jitterscope.diagnosis.scenarios.dns.servers import Clock, Query, Server


class World:
    """All servers and clients of a run."""

    def __init__(self, load: DnsLoad) -> None:
        self.load = load
        self.clock = Clock()
        self.random = np.random.default_rng(load.seed)
        self.ticks = int(load.seconds * 1e6) // TICK_US
        self.servers = [Server(self.clock, hop, self.ticks, self.random) for hop in load.hops]
        for server, upstream in pairwise(self.servers):
            server.forwarder = Forwarder(server, upstream)
        weights = np.array([name.share for name in load.names], dtype=np.float64)
        self.weights: list[float] = np.cumsum(weights / weights.sum()).tolist()
        self.client_latency_us: list[float] = []
        self.first_failure_us: int | None = None
        self.failures = 0
        # by 10 s: (client, name, type) → [queries, nxdomain, servfail, latency sum µs]
        self.asked: dict[int, dict[tuple[str, str, str], list[int]]] = defaultdict(dict)

    def run(self) -> None:
        for tick in range(self.ticks):
            end = (tick + 1) * TICK_US
            self.clock.at(end - 0.5, self._end_of_tick, tick, end)
        self.clock.at(0.0, self._arrive, 0.0)
        if self.load.volleys is not None:
            first = self.load.volleys[0] * 0.5e6
            self.clock.at(first, self._volley, first)
        until = self.load.seconds * 1e6
        while self.clock.heap:
            when, _, what, args = heapq.heappop(self.clock.heap)
            if when >= until:
                return
            what(*args)

    def _end_of_tick(self, tick: int, now: float) -> None:
        for server in self.servers:
            server.end_of_tick(tick, now)

    def rate(self, now: float) -> float:
        for start_s, seconds, qps in self.load.bursts:
            if start_s * 1e6 <= now < (start_s + seconds) * 1e6:
                return qps
        return self.load.qps

    def _arrive(self, now: float) -> None:
        rate = self.rate(now)
        if rate > 0:
            self._ask_one(now)
        even = self.load.evenness
        gap = 1e6 / max(rate, 10.0) * (even + (1 - even) * float(self.random.exponential()))
        self.clock.at(now + gap, self._arrive, now + gap)

    def _volley(self, now: float) -> None:
        assert self.load.volleys is not None
        every_s, queries = self.load.volleys
        for index in range(queries):
            self.clock.at(now + index * 50.0, self._ask_one, now + index * 50.0)
        self.clock.at(now + every_s * 1e6, self._volley, now + every_s * 1e6)

    def _ask_one(self, now: float) -> None:
        name = self.load.names[bisect_left(self.weights, self.random.random())]
        client = name.client or self.load.clients[int(self.random.integers(len(self.load.clients)))]
        _Stub(self, now, name, client).send(now)


class _Stub:
    """One lookup of a client, like glibc: the same query again after the timeout."""

    def __init__(self, world: World, now: float, name: Name, client: str) -> None:
        self.world, self.name, self.client, self.began = world, name, client, now
        self.key = world.clock.number()
        self.sent, self.over = 0, False
        self.seen_us = now

    def send(self, now: float) -> None:
        if self.over:
            return
        world = self.world
        if self.sent == world.load.client_attempts:
            self._finish(now, None)
            return
        self.sent += 1
        if not self._lost():
            self.seen_us = now
            world.servers[0].datagram(now, Query(self.key, self.name, self.client), self._reply)
        again = now + world.load.client_timeout_s * 1e6
        world.clock.at(again, self.send, again)

    def _lost(self) -> bool:
        ratio = self.world.load.client_loss_ratio
        return bool(ratio) and self.world.random.random() < ratio

    def _reply(self, now: float, result: int) -> None:
        rows = self.world.asked[int(now // 10e6)]
        row = rows.setdefault((self.client, self.name.name, self.name.type), [0, 0, 0, 0])
        row[0] += 1
        row[1] += result == NXDOMAIN
        row[2] += result == SERVFAIL
        row[3] += int(now - self.seen_us)
        if not self.over and not self._lost():
            self._finish(now, result)

    def _finish(self, now: float, result: int | None) -> None:
        self.over = True
        world = self.world
        world.client_latency_us.append(now - self.began)
        if result is None or result == SERVFAIL:
            world.failures += 1
            if world.first_failure_us is None:
                world.first_failure_us = int(now)
