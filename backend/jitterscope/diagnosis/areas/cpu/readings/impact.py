"""The harm: latency of the window, and slow answers inside given stalls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.quantities import GC_CYCLES, THROTTLED_MS, THROTTLED_RATIO
from jitterscope.diagnosis.areas.cpu.readings.throttling import Throttling, span_mask
from jitterscope.diagnosis.core.finding import Harm as Known
from jitterscope.diagnosis.core.finding import Impact, Severity
from jitterscope.diagnosis.core.held_up import HELD_UP
from jitterscope.diagnosis.core.impact import of_answers, of_cpu
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.served import beyond_chance, comparable, lost, slowest_us
from jitterscope.diagnosis.core.severity import SLOW_US, harm_of, severity
from jitterscope.diagnosis.core.signals import spans as spans_of
from jitterscope.diagnosis.core.slow import Slow, beyond_objectives, loosest_us
from jitterscope.diagnosis.core.slow import slow as slow_of
from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate


@dataclass(frozen=True, slots=True)
class Harm:
    """Slow answers of the window and those inside the stalls; `chance_ratio`: share of the time that the stalls take.

    `by_stalls`: those inside beyond the rate at other times. `compared`: there were such times, or the stalls took so
    much of the answers' time that none is needed. `answers` says what is slow. `known`: whether harm was measured.
    """

    slow: int
    slow_inside: int
    by_stalls: float
    compared: bool
    answers: Slow
    queries_since: float
    lost_inside: int
    max_ms: float | None
    first_slow_us: int | None
    chance_ratio: float
    severity: Severity | None
    known: Known


def slow_answers(snapshot: Snapshot, throttling: Throttling) -> Slow:
    """Slow answers by the baseline of unthrottled ticks."""
    return slow_of(snapshot, throttling.served, ~span_mask(throttling, list(throttling.judged)))


def harm(snapshot: Snapshot, throttling: Throttling, spans: BoolArray) -> Harm:
    """Slow answers that overlap the ticks `spans`. Single requests if they were kept, per-tick counts otherwise."""
    served = throttling.served
    hit = np.flatnonzero(spans)
    since = min(int(hit[0]) if len(hit) else 0, max(0, snapshot.ticks - 100))
    requests = float(np.nansum(served.requests[since:]))
    # A slow answer leaves in the stall or in the first tick after it.
    found, near = slow_answers(snapshot, throttling), dilate(spans, 0, 1)
    slow_tick = np.nan_to_num(found.ticks)
    slow, inside = int(slow_tick.sum()), int(slow_tick[near].sum())
    compared = comparable(served.requests, near) or _throttled_share(throttling, spans) >= HELD_UP
    by_stalls = beyond_chance(served.requests, near, inside, slow - inside) if compared else 0.0
    peak = slowest_us(snapshot, served)[spans]
    max_ms = float(np.nanmax(peak)) / 1000 if np.isfinite(peak).any() else None
    first_slow: int | None = None
    gone = 0
    for server, over_us in zip(served.servers, found.over_us, strict=True):
        if server.kind != "dns_server":
            gone += lost(snapshot, server, near)
        if server.queries is None or not len(server.queries.sent_us):
            # A query counts as lost 5 s after it was sent.
            gone += lost(snapshot, server, dilate(spans, 0, 51)) if server.kind == "dns_server" else 0
            continue
        sent, took = server.queries.sent_us, server.queries.latency_us
        overlap = _overlaps(snapshot, spans, sent, took)
        unanswered = server.queries.result == TIMEOUT
        gone += int((overlap & unanswered).sum()) if server.kind == "dns_server" else 0
        if over_us < SLOW_US:
            continue
        answered = overlap & (took > over_us) & ~unanswered
        if answered.any():
            max_ms = max(max_ms or 0.0, float(took[answered].max()) / 1000)
            first = int(sent[answered][0])
            first_slow = first if first_slow is None else min(first_slow, first)
    chance = float(spans.mean()) if len(spans) else 0.0
    bad_us = loosest_us([one for one in found.limits if one.objective])
    beyond = beyond_objectives(snapshot, found.limits, served, by_stalls, since)
    level = severity(beyond, requests, max_ms, gone, bad_us)
    known = harm_of(level, known=requests > 0 and served.all_timed and (compared or not inside))
    return Harm(slow, inside, by_stalls, compared, found, requests, gone, max_ms, first_slow, chance, level, known)


def _throttled_share(throttling: Throttling, ticks: BoolArray) -> float:
    """The share of these ticks' time in which the cgroup was throttled (0..1); 0 if that was not recorded."""
    step_us = throttling.cpu.step_us
    # Each CPU counts its own throttled time.
    throttled = np.fmin(throttling.cpu.throttled_us, spans_of(throttling.cpu.throttled_us) * step_us)
    return float(np.nansum(throttled[ticks])) / (step_us * max(1, int(ticks.sum())))


def _overlaps(
    snapshot: Snapshot,
    spans: BoolArray,
    sent_us: np.ndarray[tuple[int], np.dtype[np.int64]],
    took_us: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> BoolArray:
    """Whether the request was waiting in one of the ticks."""
    count = np.concatenate([[0], np.cumsum(spans)])
    first = np.clip((sent_us - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    last = np.clip((sent_us + took_us - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    return np.asarray(count[last + 1] - count[first] > 0)


def impact(snapshot: Snapshot, throttling: Throttling, found: Harm) -> Impact:
    """Figures of the whole window, without those that were not measured."""
    cpu = throttling.cpu
    periods, throttled = float(np.nansum(cpu.periods)), float(np.nansum(cpu.throttled))
    cycles = None
    if throttling.gc is not None:
        cycles = throttling.gc.cycles.ended(snapshot.start_us, snapshot.end_us)
    answers = of_answers(snapshot, throttling.served, found.slow, found.max_ms, found.answers.limits)
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
