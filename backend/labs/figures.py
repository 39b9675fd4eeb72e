"""The figures that a lab measures itself and that the product is asked for: the same names, the same meaning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from jitterscope.analyses.load_file import LoadResult
from jitterscope.diagnosis.core.query_results import TIMEOUT
from jitterscope.diagnosis.core.severity import SLOW_US
from labs.gctrace import GcCycle

TICK_US = 100_000
READING_US = 10_000  # how often the driver reads the counters
LATE_US = 2_000  # a sample this late may include a burst that began after the tick


class Figures(BaseModel):
    """Figures over one window. None: nothing was seen to compute it from.

    Latencies are of queries answered in the window. `slow_share` counts those over 20 ms and those given up in it, out
    of all queries sent in it. The product counts an answer when it leaves, so both sides count a stall at an edge.
    `throttled_ms` is the kernel's own sum, over CPUs. CPU figures are in CPUs. The peak is over 100 ms or, if the
    periods are longer, over the periods that ended in a tick: edges a millisecond apart may include two periods' quota.
    A tick whose end was sampled late is merged with the next.
    """

    model_config = ConfigDict(extra="forbid")

    p50_ms: float | None = None
    p99_ms: float | None = None
    slow_share: float | None = None
    throttled_ratio: float | None = None
    throttled_ms: float | None = None
    gc_cycles: int | None = None
    cpu_mean: float | None = None
    cpu_peak_100ms: float | None = None


def measured(load: LoadResult, gc_cycles: list[GcCycle] | None, from_us: int, to_us: int, period_us: int) -> Figures:
    """What the lab saw in [from_us, to_us), both multiples of 100 ms."""
    ended_us = load.sent_us + load.latency_us
    inside = (ended_us >= from_us) & (ended_us < to_us)
    sent = int(((load.sent_us >= from_us) & (load.sent_us < to_us)).sum())
    latency, lost = load.latency_us[inside], load.result[inside] == TIMEOUT
    p50, p99 = (_quantile_ms(latency[~lost], q) for q in (0.5, 0.99))
    at, periods, throttled, throttled_us, usage_us, _ = load.counters.T
    edges = np.array([from_us, to_us])
    n_periods, n_throttled = (_at(column, at, edges) for column in (periods, throttled))
    used_us = np.diff(np.interp(edges, at, usage_us))[0]
    credited = _at(throttled_us, at, edges)
    return Figures(
        p50_ms=p50,
        p99_ms=p99,
        slow_share=float(((latency > SLOW_US) | lost).sum()) / sent if sent else None,
        throttled_ratio=float(np.diff(n_throttled)[0] / max(np.diff(n_periods)[0], 1)),
        throttled_ms=float(np.diff(credited)[0]) / 1e3,
        gc_cycles=None if gc_cycles is None else sum(from_us <= one.end_us < to_us for one in gc_cycles),
        cpu_mean=float(used_us) / (to_us - from_us),
        cpu_peak_100ms=_peak(load.counters, np.arange(from_us, to_us + 1, TICK_US), period_us),
    )


def first_slow_us(load: LoadResult) -> int | None:
    """When the first slow or lost query or request was sent; None if there is none."""
    slow = (load.latency_us > SLOW_US) | (load.result == TIMEOUT)
    return int(load.sent_us[slow].min()) if slow.any() else None


def first_throttled_query_us(load: LoadResult) -> int | None:
    """When the first query was sent that was slow because its server was throttled; None if there is none.

    nr_throttled rises when a period ends. Then the server resumes and answers, so the rise is within the query's wait.
    """
    at, throttled = load.counters[:, 0], load.counters[:, 2]
    moved = at[1:][np.diff(throttled) > 0]
    slow = load.latency_us > SLOW_US
    for sent, latency in zip(load.sent_us[slow], load.latency_us[slow], strict=True):
        following = np.searchsorted(moved, sent)
        if following < moved.size and moved[following] <= sent + latency + 2 * READING_US:
            return int(sent)
    return None


def _peak(counters: NDArray[np.int64], ticks: NDArray[np.int64], period_us: int) -> float:
    """Peak in CPUs, between ticks that were sampled in time."""
    at, periods, _, _, usage_us, _ = counters.T
    reading = np.minimum(np.searchsorted(at, ticks), at.size - 1)
    in_time = np.abs(at[reading] - ticks) <= LATE_US
    reading, ticks = reading[in_time], ticks[in_time]
    covered_us = np.maximum(np.diff(ticks), np.diff(periods[reading]) * period_us)
    return float((np.diff(usage_us[reading]) / covered_us).max())


def _at(column: NDArray[np.int64], at: NDArray[np.int64], when: NDArray[np.int64]) -> NDArray[np.int64]:
    """A counter's value at each time (multiples of 10 ms): the sample due then arrives shortly after it."""
    index = np.maximum(np.searchsorted(at, when + READING_US // 2, side="right") - 1, 0)
    return np.asarray(column[index])


def _quantile_ms(latency_us: NDArray[np.int32], q: float) -> float | None:
    return float(np.quantile(latency_us, q, method="lower")) / 1e3 if latency_us.size else None
