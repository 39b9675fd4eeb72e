"""Answers that reached clients late because a part of them had to be retransmitted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import Connections, Times, delays, read_connections, times
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import slow_of, usual_us
from jitterscope.diagnosis.core.snapshot import IntArray, ResourceView, Snapshot

# The retransmission timer runs for at least 200 ms (TCP_RTO_MIN), unless a route says otherwise.
TIMER_US = 200_000
# A handshake whose SYN-ACK was retransmitted took at least 1 s. SYN-ACKs that are never answered are scans, and no
# client waits.
HANDSHAKE_US = 900_000
# Round trips inside a data center, and between the zones of a region, take less than this.
NEAR_US = 10_000
# Of that share of connections the round trip says how far clients are: probes and proxies are near, whoever they serve.
_MOST, _LEAST_HANDSHAKES = 0.9, 20
# On the internet 6.1 % of answers had retransmissions (Dukkipati et al., IMC 2011).
ORDINARY = 0.06
_BLOCK_US = 10_000_000
# The kernel's clock may tick every 10 ms, and a histogram has buckets of 4 %.
_NEAR = 0.85
# If fewer of those that waited for a timer waited 200 ms, it is shorter (rto_min of a route), and late acknowledgments
# look like losses.
_BY_TIMER = 0.5


@dataclass(frozen=True, slots=True)
class Resends:
    """Retransmissions of one server.

    `late` are the waits for a retransmitted segment that make an answer late by the `limit` of the server; its
    objective allows `allowed` of them. `at_once` of them did not wait for a timer: the client had received what came
    after the segment (fast retransmit). `too_soon`: waits for a timer that is too short to tell a loss from a late
    acknowledgment; they are not among the late ones.
    `handshakes`: connections that were at least 1 s late although no attempt was dropped. `trip_us`: nine of ten other
    handshakes took at most this, one round trip; None: too few were seen. `usual`: the share of late answers in half of
    the window's blocks of 10 s.
    """

    at: Connections
    requests: float
    resent: float
    late: Times
    at_once: int
    too_soon: int
    limit: Late
    allowed: float
    handshakes: Times
    trip_us: float | None
    usual: float

    @property
    def near(self) -> bool | None:
        """Whether clients are on the same or a nearby network; None: not known."""
        return None if self.trip_us is None else self.trip_us < NEAR_US

    @property
    def suffered(self) -> float:
        """Clients that waited for an answer or a connection."""
        return float(self.late.count + self.handshakes.count)

    @property
    def harmed(self) -> float:
        """Those of them that no objective allows: it applies to answers, not to connections."""
        return max(0.0, self.late.count - self.allowed) + self.handshakes.count

    def beyond(self, ordinary: float) -> float:
        """Those that are neither allowed nor among the share `ordinary` of all."""
        answers = self.late.count - max(self.allowed, ordinary * self.requests)
        opened = ordinary * float(np.nansum(self.at.opened))
        return max(0.0, answers) + max(0.0, self.handshakes.count - opened)

    @property
    def longest_us(self) -> float:
        longest = float(self.late.took_us.max()) if len(self.late.took_us) else 0.0
        return max(longest, 1_000_000.0 if self.handshakes.count else 0.0)

    @property
    def long(self) -> int:
        """Late ones that waited as long as for the timer or longer: 200 ms."""
        return self.late.over(_NEAR * TIMER_US).count

    def ticks(self) -> IntArray:
        """Ticks in which the late ones arrived."""
        return np.union1d(self.late.tick, self.handshakes.tick).astype(np.int64)


@reading
def read_resends(snapshot: Snapshot) -> Resends | None:
    """The retransmissions of the server with the most waiting clients; None if none is watched."""
    found = [_of(snapshot, one) for one in read_connections(snapshot) if np.isfinite(one.resent).any()]
    return max(found, key=lambda one: (one.suffered, one.resent), default=None)


def _of(snapshot: Snapshot, at: Connections) -> Resends:
    limit = late_of(snapshot, at.server)
    handshakes = times(at.server, "handshake_us")
    # If there was no room for attempts, that is what they waited for.
    again = handshakes.over(np.inf if at.overflowed else HANDSHAKE_US)
    requests, resent = float(np.nansum(at.requests)), float(np.nansum(at.resent))
    timed, late = (one.over(limit.over_us) for one in delays(at.server))
    at_once, too_soon = late.count, 0
    if timed.over(_NEAR * TIMER_US).count >= _BY_TIMER * timed.count:
        late = timed + late
    else:
        too_soon = timed.count
    return Resends(
        at, requests, resent, late, at_once, too_soon, limit, _allowed(snapshot, at, limit, requests), again,
        _trip_us(handshakes), _usual(snapshot, at, late),
    )  # fmt: skip


def _trip_us(handshakes: Times) -> float | None:
    first = handshakes.up_to(HANDSHAKE_US)
    return first.quantile(_MOST) if first.count >= _LEAST_HANDSHAKES else None


def _usual(snapshot: Snapshot, at: Connections, late: Times) -> float:
    size = max(1, _BLOCK_US // snapshot.step_us)
    blocks = math.ceil(snapshot.ticks / size)
    waited = np.bincount(late.tick.astype(np.int64) // size, weights=late.many, minlength=blocks)
    asked = np.bincount(np.arange(snapshot.ticks) // size, weights=np.nan_to_num(at.requests), minlength=blocks)
    shares = waited[asked > 0] / asked[asked > 0]
    return float(np.median(shares)) if len(shares) else 0.0


def late_of(snapshot: Snapshot, server: ResourceView) -> Late:
    """The server's own answers do not wait here, so all of them define the baseline."""
    return lateness.late(server, usual_us(server, np.ones(snapshot.ticks, np.bool_)))


def _allowed(snapshot: Snapshot, at: Connections, limit: Late, requests: float) -> float:
    """What the objective allows besides the answers that were already late when they left."""
    if limit.objective is None:
        return 0.0
    own = float(np.nansum(slow_of(snapshot, at.server, limit.over_us)))
    return max(0.0, limit.objective.allowed_ratio * requests - own)
