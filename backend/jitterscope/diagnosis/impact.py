"""Who was hurt: latency of the window, and slow queries inside given stalls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.finding import Impact, Severity
from jitterscope.diagnosis.severity import SLOW_US, severity
from jitterscope.diagnosis.signals import series
from jitterscope.diagnosis.sketch import quantile_us
from jitterscope.diagnosis.snapshot import Snapshot
from jitterscope.diagnosis.stats import BoolArray, dilate
from jitterscope.diagnosis.throttling import Throttling

TIMEOUT = 4  # QueryResult of ingest.proto


@dataclass(frozen=True, slots=True)
class Harm:
    """Slow queries of the window and those inside the stalls; `chance_ratio`: share of time that the stalls take."""

    slow: int
    slow_inside: int
    queries_since: float
    lost_inside: int
    max_ms: float | None
    first_slow_us: int | None
    chance_ratio: float
    severity: Severity | None


def harm(snapshot: Snapshot, throttling: Throttling, spans: BoolArray) -> Harm:
    """Slow queries that overlap the ticks `spans`. Single queries where they were kept, per-tick counts otherwise."""
    dns = throttling.dns
    hit = np.flatnonzero(spans)
    since = min(int(hit[0]) if len(hit) else 0, max(0, snapshot.ticks - 100))
    queries = float(np.nansum(dns.queries[since:]))
    # A slow answer leaves in the stall or in the first tick after it.
    slow_tick = np.nan_to_num(dns.slow)
    slow, inside = int(slow_tick.sum()), int(slow_tick[dilate(spans, 0, 1)].sum())
    latencies = [series(server, "dns_latency_max_us", snapshot.ticks) for server in snapshot.dns_servers]
    peaks = [float(np.nanmax(values[spans])) for values in latencies if np.isfinite(values[spans]).any()]
    max_ms = max(peaks) / 1000 if peaks else None
    first_slow: int | None = None
    lost = 0
    for server in snapshot.dns_servers:
        if server.queries is None or not len(server.queries.sent_us):
            continue
        sent, took = server.queries.sent_us, server.queries.latency_us
        overlap = _overlaps(snapshot, spans, sent, took) & (took > SLOW_US)
        lost += int((overlap & (server.queries.result == TIMEOUT)).sum())
        answered = overlap & (server.queries.result != TIMEOUT)
        if answered.any():
            max_ms = max(max_ms or 0.0, float(took[answered].max()) / 1000)
            first = int(sent[answered][0])
            first_slow = first if first_slow is None else min(first_slow, first)
    chance = float(spans.mean()) if len(spans) else 0.0
    return Harm(
        slow, inside, queries, lost, max_ms, first_slow, chance, severity(inside, queries, max_ms, lost)
    )  # fmt: skip


def _overlaps(
    snapshot: Snapshot,
    spans: BoolArray,
    sent_us: np.ndarray[tuple[int], np.dtype[np.int64]],
    took_us: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> BoolArray:
    """Was the query waiting in one of the ticks?"""
    count = np.concatenate([[0], np.cumsum(spans)])
    first = np.clip((sent_us - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    last = np.clip((sent_us + took_us - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    return np.asarray(count[last + 1] - count[first] > 0)


def impact(snapshot: Snapshot, throttling: Throttling, found: Harm) -> Impact:
    """Figures of the whole window; parts that nobody measured stay None."""
    cpu, dns = throttling.cpu, throttling.dns
    queries = float(np.nansum(dns.queries))
    p50, p99 = quantiles_ms(snapshot)
    usage = cpu.usage_us[np.isfinite(cpu.usage_us)]
    periods, throttled = float(np.nansum(cpu.periods)), float(np.nansum(cpu.throttled))
    known = queries > 0
    cycles = None
    if throttling.go is not None:
        cycles = throttling.go.cycles.ended(snapshot.start_us, snapshot.end_us)
    return Impact(
        queries=int(queries) if known else None,
        slow_queries=found.slow if known else None,
        slow_ratio=min(1.0, found.slow / queries) if known else None,
        p50_ms=p50,
        p99_ms=p99,
        max_ms=found.max_ms,
        throttled_ratio=throttled / periods if periods else None,
        throttled_ms=float(np.nansum(cpu.throttled_us)) / 1000 if np.isfinite(cpu.throttled_us).any() else None,
        cpu_mean=float(usage.mean()) / cpu.step_us if len(usage) else None,
        cpu_limit=cpu.limit if np.isfinite(cpu.limit) else None,
        cpu_peak_100ms=float(usage.max()) / cpu.step_us if len(usage) else None,
        gc_cycles=cycles,
    )


def quantiles_ms(snapshot: Snapshot) -> tuple[float | None, float | None]:
    """(p50, p99) over all servers: from histograms, else from single queries where all of them were kept."""
    parts = [
        server.distributions["dns_latency_us"]
        for server in snapshot.dns_servers
        if "dns_latency_us" in server.distributions
    ]
    if parts:
        bucket = np.concatenate([part.bucket for part in parts])
        count = np.concatenate([part.count for part in parts])
        values = [quantile_us(bucket, count, q) for q in (0.5, 0.99)]
        return tuple(value / 1000 if np.isfinite(value) else None for value in values)  # type: ignore[return-value]
    complete = [
        server.queries.latency_us
        for server in snapshot.dns_servers
        if server.queries is not None
        and any(low <= snapshot.start_us and high >= snapshot.end_us for low, high in server.queries.complete)
    ]
    if not complete or not sum(map(len, complete)):
        return None, None
    low, high = np.percentile(np.concatenate(complete), [50, 99])
    return float(low) / 1000, float(high) / 1000
