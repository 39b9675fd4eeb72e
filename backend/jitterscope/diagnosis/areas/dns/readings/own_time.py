"""Where the time of a forwarding server's queries goes: at the server itself, or at its upstream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.dns.readings.containment import match
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import FloatArray, Queries

# The collector keeps every query over SLOW_US, and of quicker ones only those around a trigger. If there are more
# queries than this, the newest are matched: 30 s at 1,000 queries/s.
MOST_MATCHED = 30_000


@dataclass(frozen=True, slots=True)
class OwnTime:
    """The late queries of a server: one entry each, µs.

    `upstream_us` is the time at the upstream; 0 if it saw no query for it that took over 20 ms. `before_us` is how long
    it stayed at the server before it was sent on (all of its time if it was not).
    """

    sent_us: FloatArray
    total_us: FloatArray
    upstream_us: FloatArray
    before_us: FloatArray

    @property
    def upstream_ratio(self) -> float:
        """Share of their total time that was spent at the upstream, 0..1; NaN without late queries."""
        total = float(self.total_us.sum())
        return min(1.0, float(self.upstream_us.sum()) / total) if total > 0 else float("nan")

    @property
    def longest_before(self) -> int | None:
        """Index of the query that stayed longest at the server before it was sent on."""
        return int(np.argmax(self.before_us)) if len(self.before_us) else None


def own_time(server: Queries, upstream: Queries, late_us: float) -> OwnTime:
    """The answered queries of `server` that took over `late_us` (at least 20 ms), split by what the upstream saw."""
    server, upstream = _newest(server), _newest(upstream)
    pairs = match(server, upstream)
    inner, before = np.zeros(len(server.sent_us)), server.latency_us.astype(np.float64)
    inner[pairs.outer] = pairs.inner_us
    before[pairs.outer] = pairs.before_us
    late = (server.latency_us > max(late_us, SLOW_US)) & (server.result != TIMEOUT)
    return OwnTime(
        server.sent_us[late].astype(np.float64), server.latency_us[late].astype(np.float64), inner[late], before[late]
    )


def _newest(queries: Queries) -> Queries:
    part = slice(-MOST_MATCHED, None)
    return Queries(queries.sent_us[part], queries.latency_us[part], queries.result[part])
