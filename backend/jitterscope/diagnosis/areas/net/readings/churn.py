"""Clients that open a connection where they could have used one that they had."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import Connections, Times, read_connections, times
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import usual_us
from jitterscope.diagnosis.core.snapshot import Snapshot

# Connections per request, and of those by an address that had opened another one just before, from where on clients
# do not
# keep their connections. In TLS a handshake counts as a request or two of its own.
EACH, AGAIN = 0.4, 0.7


@dataclass(frozen=True, slots=True)
class Churn:
    """Of one server. `again` of the connections were of addresses that had opened another one within 10 s.
    `usual_us`: what an answer takes once the request is there; None where that is not recorded."""

    at: Connections
    requests: float
    opened: float
    again: float
    handshakes: Times
    usual_us: float | None

    @property
    def per_request(self) -> float:
        return self.opened / self.requests if self.requests else 0.0

    @property
    def median_us(self) -> float:
        """Of the handshakes: one round trip where nothing is lost. NaN without any."""
        return self.handshakes.quantile(0.5)

    @property
    def share(self) -> float:
        """Of a client's wait that goes into connecting: a round trip, where the request takes one more and the
        answer's time."""
        trip = self.median_us
        return trip / (2 * trip + (self.usual_us or 0.0))


@reading
def read_churn(snapshot: Snapshot) -> Churn | None:
    """Of the server to which most connections were opened again; None where none is watched."""
    found = [_of(snapshot, one) for one in read_connections(snapshot) if np.isfinite(one.again).any()]
    return max(found, key=lambda one: one.again, default=None)


def _of(snapshot: Snapshot, at: Connections) -> Churn:
    return Churn(
        at, float(np.nansum(at.requests)), float(np.nansum(at.opened)), float(np.nansum(at.again)),
        times(at.server, "handshake_us"), usual_us(at.server, np.ones(snapshot.ticks, np.bool_)),
    )  # fmt: skip
