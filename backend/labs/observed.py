"""The lab's figures, computed from what the product stored."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from jitterscope.diagnosis.core.served import METRICS, Figure
from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.sketch import quantile_us
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.types import FloatArray
from labs.console import Say
from labs.figures import LATE_US, TICK_US, Figures


def observed(recording: Recording, server_key: str) -> Figures:
    """What the product saw of the subject and of its DNS or TCP server with that key."""
    subject = recording.resources[recording.subject]
    server = server_of(recording, server_key)
    # Others on the node are in it as neighbors, including other servers with the same executable.
    processes = [one for one in recording.resources if one.kind == "process" and one.parent == recording.subject]
    usage = subject.series.get("cpu_usage_us", np.full(recording.ticks, np.nan))
    cycles = [one.series["gc_cycles"] for one in processes if "gc_cycles" in one.series]
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
        cpu_peak_100ms=_peak(subject, usage, late) if seen else None,
    )


def _peak(subject: RecordedResource, usage: FloatArray, late: FloatArray) -> float:
    """Peak in CPUs; edges slightly off a tick's may include two periods' quota, and then it is over both periods."""
    known = [number(fact.value) for fact in subject.facts if fact.name == "cpu.period_us"]
    period_us = (known[-1] if known else None) or 0.0
    ended = np.nan_to_num(subject.series.get("cpu_periods", np.zeros(usage.size)))
    highest, used_us, periods, ticks = 0.0, 0.0, 0.0, 0
    begun = False  # usage before the first sample is unknown
    for value, of_tick, late_us in zip(usage, ended, np.nan_to_num(late), strict=True):
        ticks += 1
        if np.isnan(value):
            continue
        used_us, periods = used_us + value, periods + of_tick
        if late_us > LATE_US:
            continue  # together with the ticks until the next sample in time
        if begun:
            highest = max(highest, used_us / max(ticks * TICK_US, periods * period_us))
        begun, used_us, periods, ticks = True, 0.0, 0.0, 0
    return highest


def missing_ticks_ratio(recording: Recording, say: Say) -> float:
    """The share of the window's ticks without stored CPU time of the subject; prints a note if there are any."""
    usage = recording.resources[recording.subject].series.get("cpu_usage_us")
    missing = recording.ticks if usage is None else int(np.isnan(usage).sum())
    if missing:
        say(f"{missing} of {recording.ticks} ticks are missing in the product's data")
    return missing / max(1, recording.ticks)


def _total(resources: Iterable[RecordedResource], metric: str) -> float:
    nothing: FloatArray = np.zeros(1)
    return float(sum(np.nansum(one.series.get(metric, nothing)) for one in resources))


def _throttled_ratio(subject: RecordedResource) -> float | None:
    if "cpu_periods" not in subject.series:
        return None
    return _total([subject], "cpu_throttled_periods") / max(1.0, _total([subject], "cpu_periods"))


def server_of(recording: Recording, key: str) -> RecordedResource | None:
    """The DNS server "ADDRESS:PORT" or the TCP server "CGROUP:PORT"; None if no server with that key was seen."""
    kinds = METRICS["requests"]
    return next((one for one in recording.resources if one.kind in kinds and one.key == key), None)


def _quantile_ms(server: RecordedResource | None, q: float) -> float | None:
    histogram = None if server is None else server.distributions.get(METRICS["latency"][server.kind])
    if histogram is None:
        return None
    value = quantile_us(histogram.bucket, histogram.count, q)
    return None if np.isnan(value) else value / 1e3


def _slow_share(server: RecordedResource | None) -> float | None:
    if server is None:
        return None

    def total(figure: Figure) -> float:
        return _total([server], METRICS[figure][server.kind])

    requests = total("requests")
    return (total("slow") + total("lost")) / requests if requests else None
