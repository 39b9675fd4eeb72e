"""The CPU demand of the recorded stalls as it were without a limit: queries as they arrived plus each GC cycle."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.snapshot import FloatArray
from jitterscope.diagnosis.throttling import Judged, Throttling


def unthrottled(throttling: Throttling, judged: list[Judged], cpus: float) -> FloatArray:
    """µs of CPU per tick: each stall's extra CPU at its start, on up to `cpus` CPUs beside the queries.

    A cycle under throttling is spread over many periods; left alone it runs as parallel as it may.
    """
    step = throttling.cpu.step_us
    load = np.nan_to_num(throttling.demand.load_us).copy()
    for item in judged:
        left = item.gc_us + item.other_us
        for tick in range(item.episode.start, len(load)):
            room = max(0.0, cpus * step - load[tick])
            taken = min(left, room)
            load[tick] += taken
            left -= taken
            if left <= 0:
                break
    return load


def peak_us(throttling: Throttling, judged: list[Judged]) -> float:
    """CPU (µs) that the largest cycle adds."""
    return max((item.gc_us + item.other_us for item in judged), default=0.0)
