"""The lab's figures, computed from what the product stored."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from jitterscope.diagnosis.sketch import quantile_us
from jitterscope.labs.figures import TICK_US, Figures
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import FloatArray


def observed(recording: Recording, server_key: str) -> Figures:
    """What the product saw of the subject and of the DNS server `server_key` ("ADDRESS:PORT")."""
    subject = recording.resources[recording.subject]
    server = next((one for one in recording.resources if one.kind == "dns_server" and one.key == server_key), None)
    processes = [one for one in recording.resources if one.kind == "process"]
    usage = subject.series.get("cpu_usage_us", np.full(recording.ticks, np.nan))
    cycles = [one.series["go_gc_cycles"] for one in processes if "go_gc_cycles" in one.series]
    late = recording.resources[0].series.get("collector_lateness_us", np.zeros(recording.ticks))
    seen = bool(np.isfinite(usage).any())
    return Figures(
        p50_ms=_quantile_ms(server, 0.5),
        p99_ms=_quantile_ms(server, 0.99),
        slow_share=_slow_share(server),
        throttled_ratio=_throttled_ratio(subject),
        throttled_ms=_total([subject], "cpu_throttled_us") / 1e3 if seen else None,
        gc_cycles=int(sum(np.nansum(one) for one in cycles)) if cycles else None,
        # A tick that the collector missed is counted in the next one.
        cpu_mean=float(np.nansum(usage)) / (recording.ticks * TICK_US) if seen else None,
        cpu_peak_100ms=float(np.nanmax(usage / _covered_us(usage, late))) if seen else None,
    )


def _covered_us(values: FloatArray, lateness_us: FloatArray) -> FloatArray:
    """The time that each tick's value covers, at least a tick.

    A tick that the collector sampled late reaches into the next one, and one after missing ticks covers them too.
    How many were missing before the first one is not known: infinite, so that it makes no peak.
    """
    index = np.arange(values.size)
    known = ~np.isnan(values)
    before = np.concatenate([[-1], np.maximum.accumulate(np.where(known, index, -1))[:-1]])
    late = np.nan_to_num(lateness_us)
    late_before = np.where(before >= 0, late[before], 0.0)
    covered = np.maximum((index - before) * TICK_US + late - late_before, float(TICK_US))
    return np.where(before < 0, np.inf, covered)


def missing_ticks(recording: Recording) -> int:
    """Ticks of the window for which the subject's CPU time is not stored."""
    usage = recording.resources[recording.subject].series.get("cpu_usage_us")
    return recording.ticks if usage is None else int(np.isnan(usage).sum())


def _total(resources: Iterable[RecordedResource], metric: str) -> float:
    nothing: FloatArray = np.zeros(1)
    return float(sum(np.nansum(one.series.get(metric, nothing)) for one in resources))


def _throttled_ratio(subject: RecordedResource) -> float | None:
    if "cpu_periods" not in subject.series:
        return None
    return _total([subject], "cpu_throttled_periods") / max(1.0, _total([subject], "cpu_periods"))


def _quantile_ms(server: RecordedResource | None, q: float) -> float | None:
    if server is None or "dns_latency_us" not in server.distributions:
        return None
    histogram = server.distributions["dns_latency_us"]
    value = quantile_us(histogram.bucket, histogram.count, q)
    return None if np.isnan(value) else value / 1e3


def _slow_share(server: RecordedResource | None) -> float | None:
    if server is None or (queries := _total([server], "dns_queries")) == 0:
        return None
    return (_total([server], "dns_slow") + _total([server], "dns_timeouts")) / queries
