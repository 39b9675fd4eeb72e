"""How much CPU the requests alone need: a cost model measured in undisturbed ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings.episodes import Episode
from jitterscope.diagnosis.core.signals import Cpu
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.core.stats import BoolArray, dilate

# Fewer undisturbed ticks are not enough (0.5 s at 100 ms).
ENOUGH_TICKS = 5
# A tick with at least this many requests shows what one costs.
BUSY = 2
# With less than this share of these ticks undisturbed, they are the lightest ones of a server that is always throttled.
LEAST_QUIET = 0.1


@dataclass(frozen=True, slots=True)
class Demand:
    """CPU of a tick = fixed + per_query × requests.

    `load_us` is that per tick, from arrivals: throttling does not cap it. `measured`: "quiet" from undisturbed ticks;
    "stall" from CPU per answer inside the stalls, if there are hardly any quiet ticks with requests. That includes GC,
    and still is less than at rest, where each request wakes threads: with 1,000 queries/s a CoreDNS needed 260 µs each
    while it was throttled all the time, and 310 to 420 µs without a limit;
    "usage" if requests are not counted: the median of the undisturbed ticks. DNS queries are requests here.
    """

    measured: Literal["quiet", "stall", "usage", "none"]
    fixed_us: float
    per_query_us: float
    base_us: float
    base_queries: float
    quiet: BoolArray
    load_us: FloatArray

    @property
    def is_hidden(self) -> bool:
        """It hardly ever ran without throttling: a request may cost more than was seen, so its need is not known."""
        return self.measured == "stall"


def measure(
    cpu: Cpu,
    requests: FloatArray,
    answers: FloatArray,
    gc_active_us: FloatArray,
    episodes: list[Episode],
    ignore: BoolArray,
) -> Demand:
    """The demand from requests and answers of each tick, NaN where they were not counted."""
    n = len(cpu.usage_us)
    disturbed = ignore.copy()
    for episode in episodes:
        disturbed[max(0, episode.start - 1) : episode.end + 2] = True
    outside = ~disturbed & np.isfinite(cpu.usage_us)
    in_gc = dilate(np.nan_to_num(gc_active_us) > 0.05 * cpu.step_us, 0, 1)
    quiet = outside & ~in_gc if (outside & ~in_gc).sum() >= 2 * ENOUGH_TICKS else outside
    usage, queries = cpu.usage_us, requests
    if quiet.sum() < ENOUGH_TICKS:
        return _from_stalls(cpu, requests, answers, episodes, quiet)
    base_us = float(np.median(usage[quiet]))
    asked = quiet & np.isfinite(queries)
    if asked.sum() < ENOUGH_TICKS:
        return Demand("usage", base_us, 0.0, base_us, float("nan"), quiet, np.full(n, base_us))
    enough = max(ENOUGH_TICKS, LEAST_QUIET * float((queries >= BUSY).sum()))
    fixed, per_query = _line(usage[asked], queries[asked], enough)
    base_queries = float(np.median(queries[asked]))
    if not np.isfinite(per_query):
        # Hardly any requests arrive outside the stalls (an idle server hit by bursts, or one that is always throttled):
        # their cost only shows inside them.
        stalls = _from_stalls(cpu, requests, answers, episodes, quiet, fixed)
        return Demand(stalls.measured, fixed, stalls.per_query_us, base_us, base_queries, quiet, stalls.load_us)
    load = fixed + per_query * queries
    return Demand("quiet", fixed, per_query, base_us, base_queries, quiet, np.where(np.isfinite(load), load, base_us))


def _line(usage: FloatArray, queries: FloatArray, enough: float) -> tuple[float, float]:
    """(fixed, per query) in µs; per query is NaN if fewer than `enough` ticks have queries to learn from."""
    idle, busy = usage[queries == 0], queries >= BUSY
    if busy.sum() < enough:
        return float(np.median(usage[~busy])) if (~busy).any() else 0.0, float("nan")
    low, high = np.percentile(queries[busy], [10, 90])
    if len(idle) >= ENOUGH_TICKS:
        fixed = float(np.median(idle))
    elif high >= 2 * low:
        slope, intercept = np.polyfit(queries[busy], usage[busy], 1)
        fixed = float(np.clip(intercept, 0.0, np.median(usage[busy]))) if slope > 0 else 0.0
    else:
        fixed = 0.0
    return fixed, max(0.0, float(np.median((usage[busy] - fixed) / queries[busy])))


def _from_stalls(
    cpu: Cpu,
    requests: FloatArray,
    answered: FloatArray,
    episodes: list[Episode],
    quiet: BoolArray,
    fixed: float = 0.0,
) -> Demand:
    inside = np.zeros(len(cpu.usage_us), dtype=np.bool_)
    for episode in episodes:
        inside[episode.start : episode.end + cpu.lag] = True
    both = inside & np.isfinite(cpu.usage_us) & np.isfinite(answered)
    answers, usage = float(answered[both].sum()), float(cpu.usage_us[both].sum())
    base = float(np.median(cpu.usage_us[quiet])) if quiet.any() else float("nan")
    if answers < 10:
        return Demand("none", fixed, 0.0, base, float("nan"), quiet, np.full(len(cpu.usage_us), np.nan))
    per_query = max(0.0, usage - fixed * float(both.sum())) / answers
    load = fixed + per_query * requests
    return Demand("stall", fixed, per_query, base, float("nan"), quiet, load)
