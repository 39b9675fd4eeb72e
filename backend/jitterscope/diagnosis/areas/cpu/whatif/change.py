"""The predicted effect of an actual change of settings, for comparison in its verification."""

from __future__ import annotations

from jitterscope.diagnosis.areas.cpu.whatif.predict import predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import Snapshot


def predict_change(before: Snapshot, after: Snapshot) -> dict[str, Interval]:
    """By measure id, for the settings of `after` on the demand of `before`; empty if nothing replayable changed."""
    trace, applied = from_snapshot(before), from_snapshot(after)
    if isinstance(trace, str) or isinstance(applied, str) or applied.setting == trace.setting:
        return {}
    said = predict(prepare(trace), applied.setting)
    figures = {
        "throttled_ms_per_min": said.throttled_ms_per_min,
        "throttled_ratio": said.throttled_ratio,
        "slow_ratio": said.slow_ratio,
        "p99_ms": said.p99_ms,
        "gc_cycles_per_min": said.gc_cycles_per_min,
    }
    return {name: one for name, one in figures.items() if one is not None}
