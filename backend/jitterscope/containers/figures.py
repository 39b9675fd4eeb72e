"""What containers did in a window, from minute rollups. None: not measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope.inventory.types import ResourceRow
from jitterscope.kit.allowance import borrowed, hold
from jitterscope.series import service as series
from jitterscope.series.rollups import Rollup
from jitterscope.series.types import TICK_US, FloatArray

MINUTE_US = 60_000_000
_CPU, _PERIODS, _THROTTLED_PERIODS = "cpu_usage_us", "cpu_periods", "cpu_throttled_periods"
_THROTTLED, _MEMORY = "cpu_throttled_us", "memory_usage_bytes"
_METRICS = (_CPU, _PERIODS, _THROTTLED_PERIODS, _THROTTLED, _MEMORY)
# Memory limit: minutes of all metrics of the containers that are held at once.
_CELLS = 600_000
# A sparkline has no room for more.
MAX_STEPS = 90


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a container: CPU in CPUs, times in µs. `peaks` has NaN where nothing was measured.

    `worst_minute_us`: start of the minute with the tick that the most throttled time was credited to; None if not
    throttled or not measured.
    """

    cpu_used: float | None
    cpu_peak: float | None
    throttled_us: float | None
    throttled_ratio: float | None
    worst_minute_us: int | None
    worst_us: float | None
    memory_peak_bytes: float | None
    peaks: FloatArray
    throttled: NDArray[np.bool_]


def minutes_per_step(from_us: int, to_us: int) -> int:
    """The number of minutes in a step of a sparkline."""
    return -(-((to_us - from_us) // MINUTE_US) // MAX_STEPS)


def read(session: Session, rows: Sequence[ResourceRow], from_us: int, to_us: int) -> Iterator[tuple[int, Figures]]:
    """Figures of each cgroup by id. The window consists of whole minutes."""
    minutes = (to_us - from_us) // MINUTE_US
    hold(len(rows) * MAX_STEPS * 9)
    # Cgroups of a node are read together: their ticks are in the same blocks.
    ordered = sorted(rows, key=lambda one: (one.node_id, one.id))
    at_once = max(1, _CELLS // (minutes * len(_METRICS)))
    for at in range(0, len(ordered), at_once):
        part = [one.id for one in ordered[at : at + at_once]]
        with borrowed():
            found = series.read_minutes(session, part, _METRICS, from_us, to_us)
            for one in part:
                yield one, _figures({name: found.get((one, name)) for name in _METRICS}, from_us, to_us)


def worst_ticks(session: Session, worst: dict[int, Figures]) -> dict[int, int]:
    """The start of the tick that the most throttled time was credited to, by cgroup; absent if ticks are deleted."""
    by_minute: dict[int, list[int]] = defaultdict(list)
    for one, figures in worst.items():
        if figures.worst_minute_us is not None:
            by_minute[figures.worst_minute_us].append(one)
    result: dict[int, int] = {}
    for minute_us, ids in by_minute.items():
        with borrowed():
            found = series.read_series(session, ids, [_THROTTLED], minute_us, minute_us + MINUTE_US)
        for (one, _), values in found.items():
            at = int(np.nanargmax(values))
            # The remaining ticks of a minute need not include the tick that its rollup saw.
            if values[at] == worst[one].worst_us:
                result[one] = minute_us + at * TICK_US
    return result


def _figures(minutes: dict[str, Rollup | None], from_us: int, to_us: int) -> Figures:
    cpu, throttled, memory = minutes[_CPU], minutes[_THROTTLED], minutes[_MEMORY]
    periods, bad = _total(minutes[_PERIODS]), _total(minutes[_THROTTLED_PERIODS])
    length = (to_us - from_us) // MINUTE_US
    peaks = np.full(length, np.nan) if cpu is None else cpu.high / TICK_US
    credited = np.zeros(length) if throttled is None else np.nan_to_num(throttled.high)
    worst = int(np.argmax(credited))
    total = _total(throttled)
    fold = minutes_per_step(from_us, to_us)
    return Figures(
        cpu_used=None if cpu is None else float(np.nansum(cpu.total) / cpu.ticks.sum()) / TICK_US,
        cpu_peak=None if cpu is None else float(np.nanmax(peaks)),
        throttled_us=total,
        throttled_ratio=bad / periods if periods and bad is not None else None,
        worst_minute_us=from_us + worst * MINUTE_US if credited[worst] > 0 else None,
        worst_us=float(credited[worst]) if credited[worst] > 0 else None,
        memory_peak_bytes=None if memory is None else float(np.nanmax(memory.high)),
        peaks=np.fmax.reduce(_steps(peaks, fold), axis=1),
        throttled=np.fmax.reduce(_steps(credited, fold), axis=1) > 0,
    )


def _steps(values: FloatArray, fold: int) -> FloatArray:
    padded = np.pad(values, (0, -len(values) % fold), constant_values=np.nan)
    return padded.reshape(-1, fold)


def _total(minutes: Rollup | None) -> float | None:
    return None if minutes is None else float(np.nansum(minutes.total))
