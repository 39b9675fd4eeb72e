"""Predictions and settings as the API shows them: plain content with numpy columns."""

from __future__ import annotations

from typing import Any

from jitterscope.diagnosis.whatif.types import Prediction, Setting
from jitterscope.whatif import columns


def prediction(said: Prediction, points: int) -> dict[str, Any]:
    """The content of schemas.WhatIfPrediction."""
    names = (
        "throttled_ms_per_min", "throttled_ratio", "slow_ratio", "p50_ms", "p99_ms", "max_ms", "gc_cycles_per_min",
        "cpu_mean",
    )  # fmt: skip
    intervals = {name: getattr(said, name) for name in names}
    return {
        "setting": setting(said.setting),
        **{name: None if one is None else one.model_dump() for name, one in intervals.items()},
        "cannot_tell": said.cannot_tell,
        "notes": list(said.notes),
        "timeline": None if said.timeline is None or not points else columns.simulated(said.timeline, points),
    }


def setting(given: Setting) -> dict[str, Any]:
    """The content of schemas.WhatIfSetting."""
    return {
        "cpu_limit": given.cpu_limit,
        "period_us": given.period_us,
        "burst_us": given.burst_us,
        "gomaxprocs": given.gomaxprocs,
        "gogc": given.gogc,
        "gomemlimit_bytes": given.gomemlimit_bytes,
    }
