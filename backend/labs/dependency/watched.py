"""A slow-dependency run under a running product: first the run, then the queries to the product."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import FloatArray
from labs.dependency.bench import DependencyFigures, bench, run
from labs.dependency.variants import expected_cause
from labs.observed import observed
from labs.watching import Watch

LAB = "slow-dependency"


def _observed(recording: Recording, server_key: str) -> DependencyFigures:
    own = [one for one in recording.resources if one.kind == "tcp_upstream" and one.parent == recording.subject]
    slow = [one.series["upstream_calls_slow"] for one in own if "upstream_calls_slow" in one.series]
    peaks = [float(np.nanmax(peak)) for one in own if np.isfinite(peak := _slowest(one)).any()]
    slowest = max(peaks, default=0.0)
    return DependencyFigures(
        **observed(recording, server_key).model_dump(),
        slow_calls=int(sum(np.nansum(one) for one in slow)) if slow else None,
        slowest_call_ms=slowest / 1e3 if slowest > SLOW_US else None,
    )


def _slowest(upstream: RecordedResource) -> FloatArray:
    return upstream.series.get("upstream_latency_max_us", np.full(1, np.nan))


watch = Watch(LAB, bench, run, expected_cause, _observed, cgroups=lambda made: [made.stage.cgroup.key, made.asked.key])
