"""A packet-loss run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import numpy as np

from jitterscope.recordings.model import Recording
from jitterscope.series.types import FloatArray
from labs.loss.bench import bench, run
from labs.loss.variants import expected_cause
from labs.observed import observed, server_of
from labs.watching import Watch
from labs.wire.figures import LATE_MS, WireFigures, times_us, total

LAB = "packet-loss"


def _observed(recording: Recording, key: str) -> WireFigures:
    """What clients waited: the server's own latency, plus what the product knows about retransmitted segments."""
    server = server_of(recording, key)
    requests, seen = total(server, "requests"), observed(recording, key)
    delays = times_us(server, "retransmit_delay_us")
    late = int((delays > LATE_MS * 1000).sum() + (times_us(server, "handshake_us") > LATE_MS * 1000).sum())
    slow = 0.0 if seen.slow_share is None or not requests else seen.slow_share * requests
    share = None if not requests else (slow + late) / requests
    return WireFigures(
        **{**seen.model_dump(), "slow_share": share, "p99_ms": _p99_ms(seen.p99_ms, delays, requests)},
        opened=total(server, "connections_opened"),
        dropped=total(server, "listen_drops"),
        resent=total(server, "retransmits"),
        waited_share=None if not requests else late / requests,
    )


def _p99_ms(own_ms: float | None, delays: FloatArray, requests: int | None) -> float | None:
    """p99 of the clients' waits: if more than 1 % waited for a segment, it is one of those waits."""
    beyond = 0 if not requests else len(delays) - round(0.01 * requests)
    if beyond <= 0 or own_ms is None:
        return own_ms
    return float(np.sort(delays)[-round(0.01 * (requests or 0)) - 1]) / 1000


watch = Watch(LAB, bench, run, expected_cause, _observed, began_us=lambda done: done.first_waited_us)
