"""The figures that the lab measures itself and the same ones queried from the product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from jitterscope.analyses.load_file import LoadResult
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US, SERVFAIL, TIMEOUT
from labs.nodelocal.truth import Readings

# CoreDNS's last SERVFAIL also leaves after 5 s: whether the product still waits for it is random.
IN_TIME_US = 4_900_000


class PathFigures(BaseModel):
    """Figures of the measured window, which begins with the load; None: not seen, or nothing to compute it from.

    Latencies are of answers within 4.9 s at the node-local server. `slow_share` counts lost queries, and answers later
    than twice the upstream's delay plus 50 ms (at most 5 s), out of all. `servfail_share` counts every SERVFAIL,
    `timeout_share` every query without an answer within 5 s, when clients and product give up: the SERVFAIL of a
    CoreDNS whose upstream is silent comes just after that, and is in both. `failed_share` counts each query once.
    Children and backlog are of the dnsmasq with the most. Times are from the start of the window. `limit_reached_s`: as
    many children as allowed, and a backlog.
    """

    model_config = ConfigDict(extra="forbid")

    p50_ms: float | None = None
    p99_ms: float | None = None
    slow_share: float | None = None
    servfail_share: float | None = None
    timeout_share: float | None = None
    failed_share: float | None = None
    children_peak: int | None = None
    backlog_peak: int | None = None
    backlog_share: float | None = None
    listen_overflows: int | None = None
    limit_reached_s: float | None = None
    first_slow_s: float | None = None
    first_servfail_s: float | None = None


def measured(load: LoadResult, readings: Readings, limit: int, slow_ms: float, from_us: int, to_us: int) -> PathFigures:
    """What the lab saw of queries sent in [from_us, to_us), and of dnsmasq in that time."""
    inside = (load.sent_us >= from_us) & (load.sent_us < to_us)
    sent, latency, result = load.sent_us[inside], load.latency_us[inside], load.result[inside]
    in_time = (result != TIMEOUT) & (latency <= GIVEN_UP_US)
    lost, servfail = result == TIMEOUT, result == SERVFAIL
    slow = _is_slow(latency, result, slow_ms)
    answered = ~lost & (latency <= IN_TIME_US)
    seen = readings.within(from_us, to_us)
    exhausted = (seen.children >= limit) & (seen.backlog > 0)
    return PathFigures(
        p50_ms=_quantile_ms(latency[answered], 0.5),
        p99_ms=_quantile_ms(latency[answered], 0.99),
        slow_share=share(slow),
        servfail_share=share(servfail),
        timeout_share=share(~in_time),
        failed_share=share(servfail | ~in_time),
        children_peak=int(seen.children.max(initial=0)),
        backlog_peak=int(seen.backlog.max(initial=0)),
        backlog_share=share(seen.backlog > 0),
        listen_overflows=int(np.ptp(seen.overflows)) if seen.overflows.size else None,
        limit_reached_s=first_s(seen.at_us[exhausted], from_us),
        # A client notices when an answer is overdue, not when it finally arrives.
        first_slow_s=first_s(sent[slow] + int(slow_ms * 1e3), from_us),
        first_servfail_s=first_s((sent + latency)[servfail], from_us),
    )


def slow_share(load: LoadResult, slow_ms: float, from_us: int, to_us: int) -> float | None:
    """Share of the queries sent in [from_us, to_us) that were answered later than `slow_ms`, or lost."""
    inside = (load.sent_us >= from_us) & (load.sent_us < to_us)
    return share(_is_slow(load.latency_us[inside], load.result[inside], slow_ms))


def first_servfail_us(load: LoadResult, from_us: int) -> int | None:
    """When the first SERVFAIL reached a client after from_us."""
    at = (load.sent_us + load.latency_us)[(load.result == SERVFAIL) & (load.sent_us >= from_us)]
    return int(at.min()) if at.size else None


def share(flags: NDArray[np.bool_]) -> float | None:
    """Share of the entries that are set; None without any."""
    return float(flags.mean()) if flags.size else None


def first_s(at_us: NDArray[np.int64], from_us: int) -> float | None:
    """The earliest of these times, in seconds from `from_us`; None without any."""
    return round(float(at_us.min() - from_us) / 1e6, 3) if at_us.size else None


def _is_slow(latency_us: NDArray[np.int32], result: NDArray[np.uint8], slow_ms: float) -> NDArray[np.bool_]:
    return np.asarray((latency_us > slow_ms * 1e3) | (result == TIMEOUT))


def _quantile_ms(latency_us: NDArray[np.int32], q: float) -> float | None:
    return float(np.quantile(latency_us, q, method="lower")) / 1e3 if latency_us.size else None
