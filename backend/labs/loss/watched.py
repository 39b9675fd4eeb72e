"""A packet-loss run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.net.readings.connections import DELAYS
from jitterscope.recordings.model import Recording
from jitterscope.series.types import FloatArray
from labs.figures import Figures
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
    delays = np.concatenate([times_us(server, name) for name in DELAYS])
    late = int((delays > LATE_MS * 1000).sum() + (times_us(server, "handshake_us") > LATE_MS * 1000).sum())
    slow = 0.0 if seen.slow_share is None or not requests else seen.slow_share * requests
    share = None if not requests else (slow + late) / requests
    return WireFigures(
        **{**seen.model_dump(), "slow_share": share, "p99_ms": _p99_ms(seen, delays, requests)},
        opened=total(server, "connections_opened"),
        dropped=total(server, "listen_drops"),
        resent=total(server, "retransmits"),
        waited_share=None if not requests else late / requests,
    )


def _p99_ms(seen: Figures, delays: FloatArray, requests: int | None) -> float | None:
    """p99 of the clients' waits: if more than 1 % waited for a segment, it is one of those waits."""
    own_ms, most = seen.p99_ms, round(0.01 * (requests or 0))
    if own_ms is None or seen.p50_ms is None or len(delays) <= most:
        return own_ms
    return max(own_ms, seen.p50_ms + float(np.sort(delays)[-most - 1]) / 1000)


watch = Watch(LAB, bench, run, expected_cause, _observed, began_us=lambda done: done.first_waited_us)
