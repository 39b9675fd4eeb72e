"""Clients that open a new connection although they could have reused one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import Connections, Times, read_connections, times
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import usual_us
from jitterscope.diagnosis.core.snapshot import Snapshot

# Connections per request, and share of those by an address that had just opened another one, from which on clients do
# not keep their connections. With TLS, a handshake counts as one or two requests itself.
EACH, AGAIN = 0.4, 0.7


@dataclass(frozen=True, slots=True)
class Churn:
    """Connections of one server. `again` of them came from addresses that had opened another one within 10 s.

    `usual_us`: time of an answer once the request has arrived; None if that is not recorded.
    """

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
        """Median of the handshakes: one round trip if nothing is lost. NaN without any."""
        return self.handshakes.quantile(0.5)

    @property
    def share(self) -> float:
        """The share of connecting in a client's wait.

        Connecting takes one round trip, the request another one plus the answer's time.
        """
        trip = self.median_us
        return trip / (2 * trip + (self.usual_us or 0.0))


@reading
def read_churn(snapshot: Snapshot) -> Churn | None:
    """The churn of the server with the most reopened connections; None if none is watched."""
    found = [_of(snapshot, one) for one in read_connections(snapshot) if np.isfinite(one.again).any()]
    return max(found, key=lambda one: one.again, default=None)


def _of(snapshot: Snapshot, at: Connections) -> Churn:
    return Churn(
        at, float(np.nansum(at.requests)), float(np.nansum(at.opened)), float(np.nansum(at.again)),
        times(at.server, "handshake_us"), usual_us(at.server, np.ones(snapshot.ticks, np.bool_)),
    )  # fmt: skip
