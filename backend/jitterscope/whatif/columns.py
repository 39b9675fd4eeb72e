"""Timelines of a what-if as columns within a budget of points; arrays are numpy, NaN stands for a missing tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitterscope.diagnosis.snapshot import FloatArray
from jitterscope.diagnosis.whatif.types import GcCycle, SimulatedTimeline, Trace
from jitterscope.incidents.downsample import fold_max, fold_sum

Columns = dict[str, Any]


def simulated(timeline: SimulatedTimeline, points: int) -> Columns:
    """What would have been."""
    return _columns(
        timeline.start_us, timeline.step_us, timeline.cpu_ratio, timeline.throttled_us, timeline.latency_max_us,
        timeline.gc, points,
    )  # fmt: skip


def recorded(trace: Trace, points: int) -> Columns:
    """What was, on the same grid."""
    latency = np.full(len(trace.usage_us), np.nan)
    if trace.sent_us is not None and trace.latency_us is not None and len(trace.sent_us):
        tick = (trace.sent_us - trace.start_us) // trace.step_us
        inside = (tick >= 0) & (tick < len(latency))
        peaks = np.full(len(latency), -np.inf)
        np.maximum.at(peaks, tick[inside], trace.latency_us[inside].astype(np.float64))
        latency = np.where(np.isfinite(peaks), peaks, np.nan)
    return _columns(
        trace.start_us, trace.step_us, trace.usage_us / trace.step_us, trace.throttled_us, latency, trace.gc, points
    )


def _columns(
    start_us: int,
    step_us: int,
    cpu_ratio: FloatArray,
    throttled_us: FloatArray,
    latency_max_us: FloatArray,
    gc: Sequence[GcCycle],
    points: int,
) -> Columns:
    ticks = len(cpu_ratio)
    fold = max(1, -(-ticks // points))
    return {
        "t_us": start_us + np.arange(-(-ticks // fold), dtype=np.int64) * (step_us * fold),
        "step_us": step_us * fold,
        # Hundredths of a per cent and whole µs are finer than any screen; short numbers travel faster.
        "cpu_ratio": np.round(fold_max(cpu_ratio, fold), 4),
        "throttled_us": np.round(fold_sum(throttled_us, fold)),
        "latency_max_us": np.round(fold_max(latency_max_us, fold)),
        "gc": [(cycle.start_us, cycle.end_us) for cycle in gc],
    }
