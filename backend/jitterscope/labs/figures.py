"""The figures that a lab measures itself and that the product is asked for: the same names, the same meaning."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from jitterscope.labs.gctrace import GcCycle
from jitterscope.labs.load import RESULT_TIMEOUT, LoadResult

SLOW_US = 20_000
TICK_US = 100_000
READING_US = 10_000  # the driver reads the counters this often


class Figures(BaseModel):
    """Over one window. None: nothing was seen to compute it from.

    Latencies are of answered queries; `slow_share` counts queries over 20 ms and lost ones, of all queries.
    `throttled_ms` is the kernel's own sum, over CPUs. CPU figures are in CPUs.
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


def measured(load: LoadResult, gc_cycles: list[GcCycle], from_us: int, to_us: int) -> Figures:
    """What the lab saw in [from_us, to_us), both multiples of 100 ms."""
    inside = (load.sent_us >= from_us) & (load.sent_us < to_us)
    latency, lost = load.latency_us[inside], load.result[inside] == RESULT_TIMEOUT
    p50, p99 = (_quantile_ms(latency[~lost], q) for q in (0.5, 0.99))
    at, periods, throttled, throttled_us, usage_us, _ = load.counters.T
    edges = np.array([from_us, to_us])
    n_periods, n_throttled = (_at(column, at, edges) for column in (periods, throttled))
    usage_at_ticks = np.interp(np.arange(from_us, to_us + 1, TICK_US), at, usage_us)
    credited = _at(throttled_us, at, edges)
    return Figures(
        p50_ms=p50,
        p99_ms=p99,
        slow_share=float(np.mean((latency > SLOW_US) | lost)) if latency.size else None,
        throttled_ratio=float(np.diff(n_throttled)[0] / max(np.diff(n_periods)[0], 1)),
        throttled_ms=float(np.diff(credited)[0]) / 1e3,
        gc_cycles=sum(from_us <= cycle.end_us < to_us for cycle in gc_cycles),
        cpu_mean=float(usage_at_ticks[-1] - usage_at_ticks[0]) / (to_us - from_us),
        cpu_peak_100ms=float(np.diff(usage_at_ticks).max()) / TICK_US,
    )


def first_throttled_query_us(load: LoadResult) -> int | None:
    """When the first query was sent that was slow because its server was throttled; None where there is none.

    nr_throttled moves when a period ends, which is when the server runs on and answers: within the query's wait.
    """
    at, throttled = load.counters[:, 0], load.counters[:, 2]
    moved = at[1:][np.diff(throttled) > 0]
    slow = load.latency_us > SLOW_US
    for sent, latency in zip(load.sent_us[slow], load.latency_us[slow], strict=True):
        following = np.searchsorted(moved, sent)
        if following < moved.size and moved[following] <= sent + latency + 2 * READING_US:
            return int(sent)
    return None


def _at(column: NDArray[np.int64], at: NDArray[np.int64], when: NDArray[np.int64]) -> NDArray[np.int64]:
    """A counter's value at the last reading at or before each time (the first reading where there is none)."""
    index = np.maximum(np.searchsorted(at, when, side="right") - 1, 0)
    return np.asarray(column[index])


def _quantile_ms(latency_us: NDArray[np.int32], q: float) -> float | None:
    return float(np.quantile(latency_us, q, method="lower")) / 1e3 if latency_us.size else None
