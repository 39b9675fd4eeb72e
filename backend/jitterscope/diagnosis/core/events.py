"""Counts events in per-tick figures: consecutive ticks in which something happened are one event."""

from __future__ import annotations

import math

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray

# Quiet ticks inside one event: throttled time, for example, is only credited when the stall ends.
_GAP_TICKS = 3
# A longer event counts again after each such stretch, so that a sustained overload is more than one event.
_LONG_S = 10.0


def runs(values: FloatArray, step_us: int) -> FloatArray:
    """1 in each tick where a run of values above 0 begins, and again for each 10 s that it lasts; NaN where unknown."""
    events = np.where(np.isfinite(values), 0.0, np.nan)
    hot = np.flatnonzero(np.nan_to_num(values) > 0)
    if not len(hot):
        return events
    starts = np.concatenate([[0], np.flatnonzero(np.diff(hot) > _GAP_TICKS) + 1])
    ends = np.append(starts[1:], len(hot)) - 1
    long_ticks = max(1, math.ceil(_LONG_S * 1e6 / step_us))
    for first, last in zip(hot[starts].tolist(), hot[ends].tolist(), strict=True):
        events[np.arange(first, last + 1, long_ticks)] = 1.0
    return events
