"""The CPU that a GC cycle or another burst adds to the requests."""

from __future__ import annotations

from jitterscope.diagnosis.areas.cpu.readings.throttling import Judged, Throttling


def peak_us(throttling: Throttling, judged: list[Judged]) -> float:
    """CPU (µs) that the largest cycle adds."""
    return max((item.gc_us + item.other_us for item in judged), default=0.0)
