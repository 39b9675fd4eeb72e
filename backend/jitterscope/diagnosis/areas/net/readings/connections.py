"""What is recorded about the connections of each TCP server, per tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, number, series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

# How late retransmitted answers were: those that waited for a timer, and the others (fast retransmit).
DELAYS = ("retransmit_delay_us", "fast_retransmit_delay_us")


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections of one server; NaN where nothing was recorded.

    `opened` of them `again`: by an address that had opened another one within 10 s. `drops` are counted up to 1 s after
    the attempt. `queue`: the most that waited to be accepted at once, NaN where none began to. `synacks` and `resent`
    are retransmitted segments.
    """

    server: ResourceView
    requests: FloatArray
    answers: FloatArray
    opened: FloatArray
    again: FloatArray
    drops: FloatArray
    queue: FloatArray
    synacks: FloatArray
    resent: FloatArray

    @property
    def limit(self) -> float | None:
        """How many connections can wait to be accepted; None: not known."""
        return number(self.server.fact("tcp.accept_limit"))

    @property
    def overflowed(self) -> bool:
        """Whether packets were dropped while the queue was full, or how full it was is unknown.

        A SYN that is repeated because the SYN-ACK was lost is also dropped and counted, even if the queue has room.
        """
        if not np.nansum(self.drops) > 0:
            return False
        limit, seen = self.limit, self.queue[np.isfinite(self.queue)]
        return limit is None or not len(seen) or float(seen.max()) >= limit

    @property
    def somaxconn(self) -> float | None:
        return number(self.server.fact("tcp.somaxconn"))

    @property
    def name(self) -> str:
        """The port that clients connect to: "port 8080"."""
        return f"port {self.server.key.rpartition(':')[2]}"


@dataclass(frozen=True, slots=True)
class Times:
    """A histogram, one entry each: tick, µs, and count."""

    tick: FloatArray
    took_us: FloatArray
    many: FloatArray

    def over(self, limit_us: float) -> Times:
        return self._only(self.took_us > limit_us)

    def up_to(self, limit_us: float) -> Times:
        return self._only(self.took_us <= limit_us)

    def _only(self, chosen: BoolArray) -> Times:
        return Times(self.tick[chosen], self.took_us[chosen], self.many[chosen])

    def __add__(self, other: Times) -> Times:
        return Times(
            np.concatenate([self.tick, other.tick]),
            np.concatenate([self.took_us, other.took_us]),
            np.concatenate([self.many, other.many]),
        )

    @property
    def count(self) -> int:
        return int(self.many.sum())

    def quantile(self, q: float) -> float:
        """The q-quantile in µs; NaN without entries."""
        if not len(self.took_us):
            return float("nan")
        order = np.argsort(self.took_us, kind="stable")
        rank = q * (self.many.sum() - 1)
        at = int(np.searchsorted(np.cumsum(self.many[order]), rank, side="right"))
        return float(self.took_us[order][min(at, len(order) - 1)])


@reading
def read_connections(snapshot: Snapshot) -> tuple[Connections, ...]:
    """The connections of the watched servers."""

    def of(server: ResourceView) -> Connections:
        names = (
            "requests", "responses", "connections_opened", "reconnections", "listen_drops", "accept_queue",
            "synack_retransmits", "retransmits",
        )  # fmt: skip
        return Connections(server, *(series(server, name, snapshot.ticks) for name in names))

    return tuple(of(one) for one in snapshot.tcp_servers if has(one, "connections_opened"))


def times(server: ResourceView, name: str) -> Times:
    """A distribution of a server; empty where it recorded none."""
    part = server.distributions.get(name)
    if part is None:
        return Times(np.zeros(0), np.zeros(0), np.zeros(0))
    return Times(part.tick.astype(np.float64), value_of(part.bucket), part.count.astype(np.float64))


def delays(server: ResourceView) -> tuple[Times, Times]:
    """`DELAYS` of a server."""
    timed, at_once = (times(server, name) for name in DELAYS)
    return timed, at_once


def missing(snapshot: Snapshot, names: tuple[str, ...]) -> list[str]:
    """Metrics that no TCP server of the subject recorded."""
    return [name for name in names if not any(has(one, name) for one in snapshot.tcp_servers)]
