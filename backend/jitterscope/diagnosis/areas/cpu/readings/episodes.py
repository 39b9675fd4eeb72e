"""Groups throttled ticks into episodes: stretches in which the quota was used up period after period."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.signals import Cpu
from jitterscope.diagnosis.core.stats import BoolArray, robust_baseline

_OBSERVED = 0.8  # share of an episode's ticks


@dataclass(frozen=True, slots=True)
class Episode:
    """Ticks [start, end): from where CPU use rose (at least one period before the counter moved) to its end.

    `first` and `last` are the first and last tick in which nr_throttled rose. `closed`: the quota has since been
    sufficient for longer than a gap; `cut`: it began before the window.
    """

    start: int
    first: int
    last: int
    end: int
    throttled_periods: int
    periods: int
    closed: bool
    cut: bool

    @property
    def ticks(self) -> slice:
        return slice(self.start, self.end)

    @property
    def length(self) -> int:
        return self.end - self.start

    def observed(self, known: BoolArray) -> bool:
        """Whether a series with a value in the `known` ticks has enough of the episode's to say what happened in it."""
        return bool(known[self.ticks].mean() > _OBSERVED)


def find(cpu: Cpu, ignore: BoolArray) -> list[Episode]:
    """Episodes outside the ignored ticks, in time order."""
    n = len(cpu.throttled)
    hot = np.flatnonzero((np.nan_to_num(cpu.throttled) > 0) & ~ignore)
    if not len(hot):
        return []
    gap = cpu.lag + 1
    groups = np.split(hot, np.flatnonzero(np.diff(hot) > gap) + 1)
    near = np.zeros(n, dtype=np.bool_)
    for group in groups:
        near[max(0, group[0] - cpu.lag) : group[-1] + 2] = True
    base = robust_baseline(cpu.usage_us[~near & ~ignore])
    raised = base.median + max(4 * base.spread, 0.5 * base.median) if base.n >= 5 else float("inf")
    known = np.flatnonzero(np.isfinite(cpu.throttled))
    newest = int(known[-1]) if len(known) else n - 1
    found: list[Episode] = []
    for group in groups:
        floor = found[-1].end if found else 0
        first, last = int(group[0]), int(group[-1])
        start = max(floor, first - cpu.lag)
        # Saved burst or an idle start of the period can hide the first tick of a stall: follow it back, at most 1 s.
        while start > max(floor, first - cpu.lag - 10) and cpu.usage_us[start - 1] > raised:
            start -= 1
        end = last + 1
        periods = np.nan_to_num(cpu.periods[start:end])
        throttled = int(np.nan_to_num(cpu.throttled[first:end]).sum())
        found.append(
            Episode(
                start,
                first,
                last,
                end,
                throttled,
                max(throttled, int(periods.sum()) or end - start),
                closed=newest - last > gap,
                cut=first <= cpu.lag,
            )
        )
    return found
