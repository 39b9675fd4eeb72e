"""Counts and gauges per 100 ms tick while a file is read, in bounded memory, and their charts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from jitterscope.analyses.report import Chart, Limit, Line
from jitterscope.diagnosis.core.sketch import GAMMA
from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray

TICK_US = 100_000
# An hour: later values count in the facts, not in charts and findings.
MOST_TICKS = 36_000
MOST_POINTS = 1200
_MOST_BUCKETS = 400_000


class Timeline:
    """Values of named series by tick, from the first given time on. Earlier times are ignored."""

    def __init__(self) -> None:
        self.start_us: int | None = None
        self.last_us = 0
        self.left_out = 0
        self._sums: dict[str, dict[int, float]] = {}
        self._gauges: dict[str, dict[int, float]] = {}
        self._buckets: dict[str, dict[tuple[int, int], int]] = {}

    def tick(self, at_us: int) -> int | None:
        """The tick of a time; None outside the hour that is kept."""
        if self.start_us is None:
            self.start_us = at_us // TICK_US * TICK_US
        index = (at_us - self.start_us) // TICK_US
        if not 0 <= index < MOST_TICKS:
            self.left_out += 1
            return None
        self.last_us = max(self.last_us, at_us)
        return int(index)

    def add(self, name: str, at_us: int, amount: float = 1.0) -> None:
        """Count an event."""
        index = self.tick(at_us)
        if index is not None:
            series = self._sums.setdefault(name, {})
            series[index] = series.get(index, 0.0) + amount

    def highest(self, name: str, at_us: int, value: float) -> None:
        """Record a gauge; the highest value of a tick is kept."""
        index = self.tick(at_us)
        if index is not None:
            series = self._gauges.setdefault(name, {})
            series[index] = max(series.get(index, value), value)

    def spread(self, name: str, at_us: int, value_us: float) -> None:
        """Record one value of a distribution."""
        index = self.tick(at_us)
        buckets = self._buckets.setdefault(name, {})
        if index is not None and len(buckets) < _MOST_BUCKETS:
            key = (index, math.ceil(math.log(max(value_us, 1.0), GAMMA) - 1e-9))
            buckets[key] = buckets.get(key, 0) + 1

    @property
    def ticks(self) -> int:
        """Length in ticks; 0 if nothing had a time."""
        return 0 if self.start_us is None else int((self.last_us - self.start_us) // TICK_US) + 1

    def counts(self, name: str) -> FloatArray:
        """A counted series: 0 where nothing happened."""
        return _dense(self._sums.get(name, {}), self.ticks, 0.0)

    def gauges(self, name: str) -> FloatArray:
        """A gauge: NaN where it was not observed."""
        return _dense(self._gauges.get(name, {}), self.ticks, np.nan)

    def held(self, name: str) -> FloatArray:
        """A gauge that keeps its value until the next one, from its first."""
        values = self.gauges(name)
        known = np.where(np.isfinite(values), np.arange(len(values)), -1)
        index = np.maximum.accumulate(known) if len(known) else known
        return np.where(index >= 0, values[np.maximum(index, 0)], np.nan) if len(values) else values

    def distribution(self, name: str) -> Distribution | None:
        """Log buckets as in a snapshot; None if there is no value."""
        entries = sorted(self._buckets.get(name, {}).items())
        if not entries:
            return None
        table = np.array([(tick, bucket, count) for (tick, bucket), count in entries], dtype=np.int64)
        return Distribution(tick=table[:, 0], bucket=table[:, 1], count=table[:, 2])


def _dense(sparse: Mapping[int, float], ticks: int, missing: float) -> FloatArray:
    out = np.full(ticks, missing)
    for index, value in sparse.items():
        out[index] = value
    return out


def chart(
    id: str,
    title: str,
    unit: str,
    start_us: int,
    step_us: int,
    lines: Mapping[str, FloatArray],
    limits: Mapping[str, float] | None = None,
    *,
    per_second: bool = False,
    clock: bool = False,
) -> Chart:
    """Lines over time with at most MOST_POINTS points: each is the highest of its ticks, or the rate over them."""
    length = max((len(values) for values in lines.values()), default=0)
    group = max(1, -(-length // MOST_POINTS))
    x = [float(start_us + first * step_us) for first in range(0, length, group)]
    curves = []
    for name, values in lines.items():
        points: list[float | None] = []
        for first in range(0, length, group):
            part = values[first : first + group]
            part = part[np.isfinite(part)]
            if not len(part):
                points.append(None)
            else:
                value = part.sum() / (len(part) * step_us / 1e6) if per_second else part.max()
                points.append(round(float(value), 6))
        curves.append(Line(name=name, values=points))
    marks = [Limit(name=name, value=value) for name, value in (limits or {}).items()]
    x_unit = "clock" if clock else "time"
    return Chart(id=id, title=title, x_unit=x_unit, unit=unit, x=x, lines=curves, limits=marks)
