"""The collector's view of one simulated server: packets counted on the 100 ms grid, single queries, gauges."""

from __future__ import annotations

from collections import defaultdict, deque

import numpy as np

from jitterscope.diagnosis.core.query_results import GIVEN_UP_US, NXDOMAIN, REFUSED, SERVFAIL, TIMEOUT
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import FloatArray

TICK_US = 100_000
COUNTED = {NXDOMAIN: "dns_nxdomain", SERVFAIL: "dns_servfail", REFUSED: "dns_refused"}


class Capture:
    """Counts like dnscapture: a query when it is seen, an answer when it leaves, a timeout after 5 s."""

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks
        self.columns: dict[str, FloatArray] = defaultdict(lambda: np.zeros(ticks))
        for name in ("queries", "answers", "nxdomain", "servfail", "refused", "timeouts", "slow"):
            self.columns[f"dns_{name}"] = np.zeros(ticks)
        self.columns["dns_latency_max_us"] = np.full(ticks, np.nan)
        self.paths: dict[str, dict[str, FloatArray]] = {}
        self.inflight: dict[int, tuple[float, str]] = {}
        self.order: deque[tuple[float, int]] = deque()
        # (sent, latency, result, queue wait or -1), all µs since the start
        self.queries: list[tuple[int, int, int, int]] = []

    def add(self, metric: str, now: float, amount: float = 1.0) -> None:
        tick = int(now // TICK_US)
        if tick < self.ticks:
            self.columns[metric][tick] += amount

    def gauge(self, metric: str, tick: int, value: float) -> None:
        self.columns[metric][tick] = value

    def seen(self, now: float, key: int, client: str) -> bool:
        """False: it is a retransmission of a query that still waits."""
        if key in self.inflight:
            return False
        self.inflight[key] = (now, client)
        self.order.append((now, key))
        self.add("dns_queries", now)
        self._path(client, "dns_queries", now)
        return True

    def answered(self, now: float, key: int, result: int, wait_us: float = -1.0) -> None:
        entry = self.inflight.pop(key, None)
        if entry is None:
            return
        sent, client = entry
        latency = now - sent
        self.add("dns_answers", now)
        self._path(client, "dns_answers", now)
        if result in COUNTED:
            self.add(COUNTED[result], now)
            self._path(client, COUNTED[result], now)
        if latency > SLOW_US:
            self.add("dns_slow", now)
            self._path(client, "dns_slow", now)
        tick = int(now // TICK_US)
        if tick < self.ticks:
            self.columns["dns_latency_max_us"][tick] = np.fmax(self.columns["dns_latency_max_us"][tick], latency)
            self.queries.append((int(sent), int(latency), result, int(wait_us)))

    def end_of_tick(self, tick: int) -> None:
        now = (tick + 1) * TICK_US
        while self.order and self.order[0][0] <= now - GIVEN_UP_US:
            sent, key = self.order.popleft()
            if self.inflight.get(key, (-1.0, ""))[0] == sent:
                _, client = self.inflight.pop(key)
                self.columns["dns_timeouts"][tick] += 1
                self._path(client, "dns_timeouts", now - 1)
                self.queries.append((int(sent), GIVEN_UP_US, TIMEOUT, -1))
        self.gauge("dns_inflight", tick, len(self.inflight))

    def _path(self, client: str, metric: str, now: float) -> None:
        tick = int(now // TICK_US)
        if tick < self.ticks:
            columns = self.paths.setdefault(client, {})
            if metric not in columns:
                columns[metric] = np.zeros(self.ticks)
            columns[metric][tick] += 1
