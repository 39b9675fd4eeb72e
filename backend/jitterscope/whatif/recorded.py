"""What was measured over a window, as the figures that predictions are held against."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.sketch import quantile_us
from jitterscope.diagnosis.snapshot import FloatArray, IntArray
from jitterscope.diagnosis.whatif.types import Trace
from jitterscope.whatif.schemas import RecordedFigures


def figures(trace: Trace) -> RecordedFigures:
    """Over the ticks that have data; quantiles from the histograms of every answer, else from single queries."""
    seconds = float(np.isfinite(trace.usage_us).sum()) * trace.step_us / 1e6
    minutes = seconds / 60
    throttled_us, periods, ended = _sum(trace.throttled_us), _sum(trace.periods), _sum(trace.throttled_periods)
    queries, slow = _sum(trace.arrivals), None if trace.slow is None else _sum(trace.slow)
    p50, p99, most = _latencies(trace)
    return RecordedFigures(
        seconds=seconds,
        queries=None if queries is None else round(queries),
        throttled_ms_per_min=None if throttled_us is None or not minutes else throttled_us / 1000 / minutes,
        throttled_ratio=None if ended is None or not periods else ended / periods,
        slow_ratio=None if slow is None or not queries else min(1.0, slow / queries),
        p50_ms=p50,
        p99_ms=p99,
        max_ms=most,
        gc_cycles_per_min=len(trace.gc) / minutes if trace.gc and minutes else None,
        cpu_mean=_mean_cpus(trace),
    )


def _mean_cpus(trace: Trace) -> float | None:
    known = trace.usage_us[np.isfinite(trace.usage_us)]
    return float(known.mean()) / trace.step_us if len(known) else None


def _sum(values: FloatArray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.sum()) if len(known) else None


def _latencies(trace: Trace) -> tuple[float | None, float | None, float | None]:
    """p50, p99 and maximum in ms. The slowest is always among the single queries: slow ones are kept everywhere."""
    singles: IntArray | None = trace.latency_us
    most = float(singles.max()) / 1000 if singles is not None and len(singles) else None
    histogram = trace.latency_histogram
    if histogram is not None and histogram.count.sum() > 0:
        p50, p99 = (quantile_us(histogram.bucket, histogram.count, q) / 1000 for q in (0.5, 0.99))
        return p50, p99, most
    return None, None, most
