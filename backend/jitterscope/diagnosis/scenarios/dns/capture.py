"""The collector's view of one simulated server: packets counted on the 100 ms grid, single queries, gauges."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping

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
        # Lists: adding to one number of an array takes three times as long.
        self._columns: dict[str, list[float]] = defaultdict(lambda: [0.0] * ticks)
        for name in ("queries", "answers", "nxdomain", "servfail", "refused", "timeouts", "slow"):
            self._columns[f"dns_{name}"] = [0.0] * ticks
        self._columns["dns_latency_max_us"] = [math.nan] * ticks
        self._paths: dict[str, dict[str, list[float]]] = {}
        self.inflight: dict[int, tuple[float, str]] = {}
        self.order: deque[tuple[float, int]] = deque()
        # (sent, latency, result, queue wait or -1), all µs since the start
        self.queries: list[tuple[int, int, int, int]] = []

    @property
    def columns(self) -> dict[str, FloatArray]:
        """By metric, a value for each tick."""
        return _arrays(self._columns)

    @property
    def paths(self) -> dict[str, dict[str, FloatArray]]:
        """By client, the metrics of its queries."""
        return {client: _arrays(columns) for client, columns in self._paths.items()}

    def add(self, metric: str, now: float, amount: float = 1.0) -> None:
        tick = int(now // TICK_US)
        if tick < self.ticks:
            self._columns[metric][tick] += amount

    def gauge(self, metric: str, tick: int, value: float) -> None:
        self._columns[metric][tick] = value

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
            longest = self._columns["dns_latency_max_us"]
            if not longest[tick] >= latency:  # or there is none yet
                longest[tick] = latency
            self.queries.append((int(sent), int(latency), result, int(wait_us)))

    def end_of_tick(self, tick: int) -> None:
        now = (tick + 1) * TICK_US
        while self.order and self.order[0][0] <= now - GIVEN_UP_US:
            sent, key = self.order.popleft()
            if self.inflight.get(key, (-1.0, ""))[0] == sent:
                _, client = self.inflight.pop(key)
                self._columns["dns_timeouts"][tick] += 1
                self._path(client, "dns_timeouts", now - 1)
                self.queries.append((int(sent), GIVEN_UP_US, TIMEOUT, -1))
        self.gauge("dns_inflight", tick, len(self.inflight))

    def _path(self, client: str, metric: str, now: float) -> None:
        tick = int(now // TICK_US)
        if tick < self.ticks:
            columns = self._paths.setdefault(client, {})
            if metric not in columns:
                columns[metric] = [0.0] * self.ticks
            columns[metric][tick] += 1


def _arrays(columns: Mapping[str, list[float]]) -> dict[str, FloatArray]:
    return {name: np.array(values, np.float64) for name, values in columns.items()}
