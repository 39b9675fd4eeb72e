"""How many queries a server sends on each second, and how many of these fail, by when they were sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.signals import series
from jitterscope.diagnosis.snapshot import FloatArray, IntArray, ResourceView, Snapshot
from jitterscope.diagnosis.stats import BoolArray

SERVFAIL, REFUSED, TIMEOUT = 2, 3, 4  # QueryResult of ingest.proto
# Failures later than this waited for an upstream in vain; quicker ones are somebody's answer.
LATE_US = 1_000_000
US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """Parallel arrays, one value a second (a whole number of ticks; a rest at the end is left out).

    `sent` is what went to upstreams, each query once; `failed` of these got SERVFAIL, REFUSED, nothing, or an answer
    only after a second or more, when they had been asked again. `quick` is the lower quartile of the time to an answer
    (µs) by the second in which it was sent; NaN where that is not known.
    `measured`: by a counter of what is sent on, else `sent` is everything asked, which is the most that it can be.
    """

    sent: FloatArray
    failed: FloatArray
    refused: FloatArray
    quick: FloatArray
    measured: bool

    @property
    def answered(self) -> FloatArray:
        return np.maximum(0.0, self.sent - self.failed)


def rates(snapshot: Snapshot) -> Rates | None:
    """Of all servers of the subject together; None where no query was captured."""
    servers = [s for s in snapshot.dns_servers if np.isfinite(series(s, "dns_queries", snapshot.ticks)).any()]
    ticks_a_second = max(1, US_PER_S // snapshot.step_us)
    seconds = snapshot.ticks // ticks_a_second
    if not servers or not seconds:
        return None
    sent, failed, refused = (np.zeros(snapshot.ticks) for _ in range(3))
    measured = True
    for server in servers:
        late, again, quick, turned_away = _failures(snapshot, server)
        asked = np.nan_to_num(series(server, "dns_queries", snapshot.ticks))
        ratio = _sent_ratio(snapshot, server, asked, late)
        measured &= ratio is not None
        sent += asked * (1.0 if ratio is None else ratio)
        failed += late + again + quick
        refused += turned_away
    cut = seconds * ticks_a_second

    def by_second(values: FloatArray) -> FloatArray:
        return np.asarray(values[:cut].reshape(seconds, ticks_a_second).sum(axis=1))

    return Rates(by_second(sent), by_second(failed), by_second(refused), _quick(snapshot, servers, seconds), measured)


def _failures(snapshot: Snapshot, server: ResourceView) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """(never answered, answered late, both by the tick in which they were sent; failed at once, of these REFUSED)."""
    n = snapshot.ticks
    servfail, refused, timeouts = (
        np.nan_to_num(series(server, name, n)) for name in ("dns_servfail", "dns_refused", "dns_timeouts")
    )
    # The server's own limit on concurrent queries refuses, too: that is no upstream's doing.
    own = np.nan_to_num(series(server, "coredns_max_concurrent_rejects", n))
    refused = np.maximum(0.0, refused - own)
    queries = server.queries
    if queries is None or not len(queries.sent_us):
        waited = min(n, round(5 * US_PER_S / snapshot.step_us))
        late = np.zeros(n)
        late[: n - waited] = timeouts[waited:]
        return late, np.zeros(n), servfail + refused, refused
    sent = (queries.sent_us - snapshot.start_us) // snapshot.step_us
    left = (queries.sent_us + queries.latency_us - snapshot.start_us) // snapshot.step_us
    gone = queries.result == TIMEOUT
    slow = (queries.latency_us >= LATE_US) & ~gone
    lost = slow & (queries.result == SERVFAIL)

    def by_tick(chosen: BoolArray, ticks: IntArray) -> FloatArray:
        inside = ticks[chosen & (ticks >= 0) & (ticks < n)]
        return np.bincount(inside, minlength=n)[:n].astype(np.float64)

    at_once = np.maximum(0.0, servfail - by_tick(lost, left)) + refused
    return by_tick(gone | lost, sent), by_tick(slow & ~lost, sent), at_once, refused


def _sent_ratio(snapshot: Snapshot, server: ResourceView, asked: FloatArray, late: FloatArray) -> FloatArray | None:
    """Share of what was asked that went on to an upstream, per tick, 0..1; None: nobody counted that.

    Counters are read every few seconds: between two readings the share is the same, the rate follows the packets.
    """
    n = snapshot.ticks
    went = series(server, "coredns_forward_requests", n)
    extra = late  # what no upstream answers is not in CoreDNS's count
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
        parts[0] = (parts[0][0], parts[1][1])  # the first reading counts from before the window
    out = np.zeros(n)
    for part, ratio in parts:
        out[part] = ratio
    return out


def _readings(known: np.ndarray[tuple[int], np.dtype[np.int64]], n: int) -> list[int]:
    """Ends of stretches of at least a second between readings."""
    ends, begin = [], 0
    for tick in known.tolist():
        if tick + 1 - begin >= 10:
            ends.append(tick + 1)
            begin = tick + 1
    # What comes after the last reading has the share of the stretch before it.
    return ends[:-1] if ends and ends[-1] != n else ends


def _quick(snapshot: Snapshot, servers: list[ResourceView], seconds: int) -> FloatArray:
    out = np.full(seconds, np.nan)
    parts = [server.queries for server in servers if server.queries is not None]
    whole = [q for q in parts if any(a <= snapshot.start_us and b >= snapshot.end_us for a, b in q.complete)]
    if not whole:
        return out
    at = np.concatenate([(q.sent_us - snapshot.start_us) // US_PER_S for q in whole])
    took = np.concatenate([q.latency_us for q in whole])
    good = np.concatenate([(q.result != TIMEOUT) & (q.result != SERVFAIL) & (q.result != REFUSED) for q in whole])
    at, took = at[good], took[good]
    order = np.argsort(at, kind="stable")
    bounds = np.searchsorted(at[order], np.arange(seconds + 1))
    for second in range(seconds):
        chosen = took[order[bounds[second] : bounds[second + 1]]]
        if len(chosen) >= 10:
            out[second] = float(np.percentile(chosen, 25))
    return out
