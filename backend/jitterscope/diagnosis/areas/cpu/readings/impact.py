"""Who was hurt: latency of the window, and slow queries inside given stalls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.quantities import GC_CYCLES, THROTTLED_MS, THROTTLED_RATIO
from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling
from jitterscope.diagnosis.core.finding import Harm as Known
from jitterscope.diagnosis.core.finding import Impact, Severity
from jitterscope.diagnosis.core.harm import answers_timed
from jitterscope.diagnosis.core.impact import of_answers, of_cpu
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.severity import SLOW_US, harm_of, severity
from jitterscope.diagnosis.core.signals import series
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate


@dataclass(frozen=True, slots=True)
class Harm:
    """Slow queries of the window and those inside the stalls; `chance_ratio`: share of time that the stalls take.

    `known`: whether that is harm, or nobody measured it.
    """

    slow: int
    slow_inside: int
    queries_since: float
    lost_inside: int
    max_ms: float | None
    first_slow_us: int | None
    chance_ratio: float
    severity: Severity | None
    known: Known


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
    level = severity(inside, queries, max_ms, lost)
    known = harm_of(level, known=queries > 0 and answers_timed(snapshot))
    return Harm(slow, inside, queries, lost, max_ms, first_slow, chance, level, known)


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
    """Figures of the whole window; what nobody measured is left out."""
    cpu = throttling.cpu
    periods, throttled = float(np.nansum(cpu.periods)), float(np.nansum(cpu.throttled))
    cycles = None
    if throttling.gc is not None:
        cycles = throttling.gc.cycles.ended(snapshot.start_us, snapshot.end_us)
    answers = of_answers(snapshot, float(np.nansum(throttling.dns.queries)), found.slow, found.max_ms)
    return (
        answers
        | of_cpu(snapshot)
        | impact_of(
            {
                THROTTLED_RATIO: throttled / periods if periods else None,
                THROTTLED_MS: float(np.nansum(cpu.throttled_us)) / 1000
                if np.isfinite(cpu.throttled_us).any()
                else None,
                GC_CYCLES: cycles,
            }
        )
    )
