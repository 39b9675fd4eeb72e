"""How many queries a server forwards each second, and how many of these fail, by when they were sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.query_results import SERVFAIL, TIMEOUT
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.sketch import quantile_us
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

# Failures later than this timed out at an upstream; quicker ones are actual answers.
LATE_US = 1_000_000
US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """Parallel arrays, one value per second (a whole number of ticks; a remainder at the end is left out).

    `sent` is what went to upstreams, each query once; `failed` of these got SERVFAIL, REFUSED, nothing, or an answer
    only after a second or more, following a retry. `quick` is the lower quartile of the answer time (µs) by the second
    in which the answer came; NaN with fewer than ten. `densest_ratio` is the share of the busiest tick in the queries
    of its second. `measured`: by a counter of forwarded queries, otherwise `sent` is all received queries, an upper
    bound.
    """

    sent: FloatArray
    failed: FloatArray
    refused: FloatArray
    quick: FloatArray
    densest_ratio: FloatArray
    measured: bool

    @property
    def answered(self) -> FloatArray:
        return np.maximum(0.0, self.sent - self.failed)


@reading
def rates(snapshot: Snapshot) -> Rates | None:
    """The rates of all servers of the subject together; None if no query was captured."""
    servers = [s for s in snapshot.dns_servers if np.isfinite(series(s, "dns_queries", snapshot.ticks)).any()]
    ticks_a_second = max(1, US_PER_S // snapshot.step_us)
    seconds = snapshot.ticks // ticks_a_second
    if not servers or not seconds:
        return None
    sent, failed, refused = (np.zeros(snapshot.ticks) for _ in range(3))
    measured = True
    for server in servers:
        failures = _failures(snapshot, server)
        asked = np.nan_to_num(series(server, "dns_queries", snapshot.ticks))
        ratio = _sent_ratio(snapshot, server, asked, failures)
        measured &= ratio is not None
        sent += asked * (1.0 if ratio is None else ratio)
        failed += failures.lost + failures.again + failures.at_once
        refused += failures.refused
    cut = seconds * ticks_a_second

    def by_second(values: FloatArray) -> FloatArray:
        return np.asarray(values[:cut].reshape(seconds, ticks_a_second).sum(axis=1))

    most = sent[:cut].reshape(seconds, ticks_a_second).max(axis=1)
    total = by_second(sent)
    return Rates(
        sent=total,
        failed=by_second(failed),
        refused=by_second(refused),
        quick=_quick(snapshot, servers, seconds),
        densest_ratio=np.divide(most, total, out=np.zeros(seconds), where=total > 0),
        measured=measured,
    )


def sent_on(snapshot: Snapshot) -> FloatArray | None:
    """Queries of the subject's servers that were forwarded upstream, per tick; None if one of them does not count."""
    total = np.zeros(snapshot.ticks)
    servers = [s for s in snapshot.dns_servers if np.isfinite(series(s, "dns_queries", snapshot.ticks)).any()]
    for server in servers:
        asked = series(server, "dns_queries", snapshot.ticks)
        ratio = _sent_ratio(snapshot, server, np.nan_to_num(asked), _failures(snapshot, server))
        if ratio is None:
            return None
        total += asked * ratio
    return total if servers else None


@dataclass(frozen=True, slots=True)
class _Failures:
    """Queries per tick. `lost` were never answered and `again` late, both by when they were sent.

    `came` are the late answers by when they came. `at_once` failed immediately, of these `refused` with REFUSED.
    """

    lost: FloatArray
    again: FloatArray
    came: FloatArray
    at_once: FloatArray
    refused: FloatArray


def _failures(snapshot: Snapshot, server: ResourceView) -> _Failures:
    n = snapshot.ticks
    servfail, refused, timeouts = (
        np.nan_to_num(series(server, name, n)) for name in ("dns_servfail", "dns_refused", "dns_timeouts")
    )
    # The server's own limit on concurrent queries refuses too: that is not the upstream's doing.
    own = np.nan_to_num(series(server, "coredns_max_concurrent_rejects", n))
    refused = np.maximum(0.0, refused - own)
    queries = server.queries
    if queries is None or not len(queries.sent_us):
        waited = min(n, round(5 * US_PER_S / snapshot.step_us))
        late = np.zeros(n)
        late[: n - waited] = timeouts[waited:]
        return _Failures(late, np.zeros(n), np.zeros(n), servfail + refused, refused)
    sent = (queries.sent_us - snapshot.start_us) // snapshot.step_us
    left = (queries.sent_us + queries.latency_us - snapshot.start_us) // snapshot.step_us
    gone = queries.result == TIMEOUT
    slow = (queries.latency_us >= LATE_US) & ~gone
    lost = slow & (queries.result == SERVFAIL)

    def by_tick(chosen: BoolArray, ticks: IntArray) -> FloatArray:
        inside = ticks[chosen & (ticks >= 0) & (ticks < n)]
        return np.bincount(inside, minlength=n)[:n].astype(np.float64)

    at_once = np.maximum(0.0, servfail - by_tick(lost, left)) + refused
    again = slow & ~lost
    return _Failures(by_tick(gone | lost, sent), by_tick(again, sent), by_tick(again, left), at_once, refused)


def _sent_ratio(snapshot: Snapshot, server: ResourceView, asked: FloatArray, failures: _Failures) -> FloatArray | None:
    """Share of the received queries that was forwarded, per tick, 0..1; None: not counted.

    Counters are read every few seconds: between two samples the share is constant, the rate follows the packets.
    """
    n = snapshot.ticks
    went = series(server, "coredns_forward_requests", n)
    # CoreDNS counts an upstream's answers when they arrive: not those that are lost or only retried later.
    extra = failures.lost + failures.again - failures.came
    if not np.isfinite(went).any():
        went, extra = series(server, "dnsmasq_cache_misses", n), np.zeros(n)
    known = np.flatnonzero(np.isfinite(went))
    if not len(known):
        return None
    parts: list[tuple[slice, float]] = []
    begin = 0
    for end in [*_readings(known, n), n]:
        if end <= begin:
            continue
        part = slice(begin, end)
        total = float(asked[part].sum())
        gone = float(np.nansum(went[part]) + extra[part].sum())
        parts.append((part, min(1.0, gone / total) if total else 0.0))
        begin = end
    if len(known) < n // 2 and len(parts) > 1:
        parts[0] = (parts[0][0], parts[1][1])  # the first sample counts from before the window
    out = np.zeros(n)
    for part, ratio in parts:
        out[part] = ratio
    return out


def _readings(known: np.ndarray[tuple[int], np.dtype[np.int64]], n: int) -> list[int]:
    """Ends of stretches of at least a second between samples."""
    ends, begin = [], 0
    for tick in known.tolist():
        if tick + 1 - begin >= 10:
            ends.append(tick + 1)
            begin = tick + 1
    # Ticks after the last sample have the share of the stretch before it.
    return ends[:-1] if ends and ends[-1] != n else ends


def _quick(snapshot: Snapshot, servers: list[ResourceView], seconds: int) -> FloatArray:
    """The quartile of all answers, whether or not the single queries of the second were kept."""
    parts = [part for server in servers if (part := server.distributions.get("dns_latency_us")) is not None]
    out = np.full(seconds, np.nan)
    if not parts:
        return out
    second, bucket, count = (
        np.concatenate(columns)
        for columns in zip(*((p.tick * snapshot.step_us // US_PER_S, p.bucket, p.count) for p in parts), strict=True)
    )
    for number in range(seconds):
        chosen = second == number
        if count[chosen].sum() >= 10:
            out[number] = quantile_us(bucket[chosen], count[chosen], 0.25)
    return out
