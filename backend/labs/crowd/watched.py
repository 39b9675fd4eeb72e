"""An accept-queue run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

from jitterscope.diagnosis.areas.net.readings.overflow import read_overflow
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from labs.crowd.bench import bench, run
from labs.crowd.variants import expected_cause
from labs.observed import observed, server_of
from labs.watching import Watch
from labs.wire.figures import WireFigures, total

LAB = "accept-queue"


def _observed(recording: Recording, key: str) -> WireFigures:
    """A client waits if a handshake is late; for dropped SYNs the product knows only a minimum number.

    Clients that wait need not have sent a request yet, so they count beside all requests: the share is a lower bound.
    """
    server = server_of(recording, key)
    requests = total(server, "requests")
    overflow = read_overflow(snapshot_of(recording))
    waited = None if overflow is None or overflow.at.server.key != key else overflow.waited
    return WireFigures(
        **observed(recording, key).model_dump(),
        opened=total(server, "connections_opened"),
        dropped=total(server, "listen_drops"),
        resent=total(server, "retransmits"),
        waited_share=None if not requests or waited is None else waited / (requests + waited),
    )


watch = Watch(LAB, bench, run, expected_cause, _observed, began_us=lambda done: done.first_waited_us)
