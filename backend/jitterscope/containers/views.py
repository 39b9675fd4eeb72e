"""Figures of containers as the API shows them."""

from __future__ import annotations

from jitterscope.containers.figures import MINUTE_US, Figures
from jitterscope.containers.schemas import WorstTick
from jitterscope.series.types import TICK_US


def worst_tick(measured: Figures, tick_us: int | None) -> WorstTick | None:
    """The worst tick of a container. `tick_us` is its start; None if ticks are deleted: shows its minute instead."""
    if measured.worst_minute_us is None or measured.worst_us is None:
        return None
    at_us, span_us = (measured.worst_minute_us, MINUTE_US) if tick_us is None else (tick_us, TICK_US)
    return WorstTick(at_us=at_us, span_us=span_us, throttled_us=round(measured.worst_us))
