"""Answers that clients got late because a part of them had to be sent again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import Connections, Times, read_connections, times
from jitterscope.diagnosis.core import late as lateness
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import slow_of, usual_us
from jitterscope.diagnosis.core.snapshot import IntArray, ResourceView, Snapshot

# The retransmission timer runs for 200 ms at least (TCP_RTO_MIN), unless a route says otherwise.
TIMER_US = 200_000
# Where the clock of the kernel ticks every 10 ms, and a histogram has buckets of 4 %.
_NEAR = 0.85


@dataclass(frozen=True, slots=True)
class Resends:
    """Of one server. `delays` are all waits for a segment that was sent again; `late` those that make an answer late by
    the `limit` of the server, `allowed` of which its objective has room for. `synacks`: SYN-ACKs sent again though no
    attempt was dropped, each 1 s of a client's time at least."""

    at: Connections
    requests: float
    resent: float
    delays: Times
    late: Times
    limit: Late
    allowed: float
    synacks: float

    @property
    def suffered(self) -> float:
        """Clients that waited for an answer or a connection."""
        return self.late.count + self.synacks

    @property
    def harmed(self) -> float:
        """Of these, those that no objective allows: it is about answers, and not about connections."""
        return max(0.0, self.late.count - self.allowed) + self.synacks

    @property
    def longest_us(self) -> float:
        longest = float(self.late.took_us.max()) if len(self.late.took_us) else 0.0
        return max(longest, 1_000_000.0 if self.synacks else 0.0)

    @property
    def by_timer(self) -> int:
        """Late ones that waited for the timer: 200 ms or longer."""
        return self.late.over(_NEAR * TIMER_US).count

    def ticks(self) -> IntArray:
        """In which the late ones came through, or SYN-ACKs were sent again."""
        again = np.flatnonzero(np.nan_to_num(self.at.synacks) > 0) if self.synacks else np.zeros(0, np.int64)
        return np.union1d(self.late.tick.astype(np.int64), again)


@reading
def read_resends(snapshot: Snapshot) -> Resends | None:
    """Of the server most of whose clients waited; None where none is watched."""
    found = [_of(snapshot, one) for one in read_connections(snapshot) if np.isfinite(one.resent).any()]
    return max(found, key=lambda one: (one.suffered, one.resent), default=None)


def _of(snapshot: Snapshot, at: Connections) -> Resends:
    limit, requests = late_of(snapshot, at.server), float(np.nansum(at.requests))
    delays = times(at.server, "retransmit_delay_us")
    dropped = float(np.nansum(at.drops)) > 0
    return Resends(
        at, requests, float(np.nansum(at.resent)), delays, delays.over(limit.over_us), limit,
        _allowed(snapshot, at, limit, requests), 0.0 if dropped else float(np.nansum(at.synacks)),
    )  # fmt: skip


def late_of(snapshot: Snapshot, server: ResourceView) -> Late:
    """Its own answers are not what waits here: all of them tell what is usual."""
    return lateness.late(server, usual_us(server, np.ones(snapshot.ticks, np.bool_)))


def _allowed(snapshot: Snapshot, at: Connections, limit: Late, requests: float) -> float:
    """What the objective allows beside the answers that were late when they left."""
    if limit.objective is None:
        return 0.0
    own = float(np.nansum(slow_of(snapshot, at.server, limit.over_us)))
    return max(0.0, limit.objective.allowed_ratio * requests - own)
