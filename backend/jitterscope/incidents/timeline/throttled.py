"""When a cgroup was throttled: throttled time, moved from the tick in which the kernel counts it to when it happened.

The kernel counts a stall when it ends, at the end of the CFS period, and sums it over the run queues that were
throttled (`unthrottle_cfs_rq` in kernel/sched/fair.c): the counters change in the tick after the stall.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray
from jitterscope.diagnosis.core.stats import BoolArray

# A counter that was not read in some ticks grows by the sum over all of them. After more missed ticks than this it may
# have restarted, with another cgroup of the same name.
MOST_MISSED = 50
# A cgroup that uses less than this share of one CPU in a tick is stalled.
_STILL = 0.1


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts in each tick of one grid; NaN where they were not read. `start_us` is the first tick's start."""

    start_us: int
    step_us: int
    usage_us: FloatArray
    throttled_us: FloatArray
    periods: FloatArray

    @property
    def known(self) -> BoolArray:
        return np.isfinite(self.throttled_us) | np.isfinite(self.periods)


@dataclass(frozen=True, slots=True)
class Stalls:
    """Spans [from_us, to_us), sorted by start; parallel arrays.

    `stopped_us`: how long the cgroup was stalled in the span; less than the span's length if it holds several stalls.
    `counted_us`: what the kernel counted for it, summed over run queues.
    """

    from_us: IntArray
    to_us: IntArray
    stopped_us: FloatArray
    counted_us: FloatArray
    periods: IntArray

    def within(self, from_us: int, to_us: int) -> Stalls:
        """The stalls that overlap [from_us, to_us)."""
        kept = (self.to_us > from_us) & (self.from_us < to_us)
        return self._at(np.flatnonzero(kept))

    def merged(self, gap_us: float) -> Stalls:
        """Merge stalls that touch or are at most `gap_us` apart."""
        if not len(self.from_us):
            return self
        ends = np.maximum.accumulate(self.to_us)
        first = np.flatnonzero(np.concatenate([[True], self.from_us[1:] - ends[:-1] > gap_us]))
        last = np.append(first[1:], len(ends)) - 1
        return Stalls(
            self.from_us[first],
            ends[last],
            np.add.reduceat(self.stopped_us, first),
            np.add.reduceat(self.counted_us, first),
            np.add.reduceat(self.periods, first),
        )

    def _at(self, places: IntArray) -> Stalls:
        return Stalls(
            self.from_us[places], self.to_us[places], self.stopped_us[places], self.counted_us[places],
            self.periods[places],
        )  # fmt: skip


def stalls(coarse: Counted, fine: Counted | None, period_us: int, cpus: int) -> Stalls:
    """Each stall as exactly as the ticks allow: from the fine ones if they were kept, otherwise from the coarse ones.

    It ends in the middle of the tick in which it was counted, off by half a tick at most, and is as long as the counted
    time allows, with as few run queues as the period and the CPU usage permit. `cpus` of the node limits their number.
    """
    if fine is None:
        return _placed(coarse, np.ones(len(coarse.periods), np.bool_), period_us, cpus, by_usage=False)
    left = _placed(coarse, ~_covered(coarse, fine), period_us, cpus, by_usage=False)
    detailed = _placed(fine, np.ones(len(fine.periods), np.bool_), period_us, cpus, by_usage=True)
    joined = Stalls(
        np.concatenate([left.from_us, detailed.from_us]),
        np.concatenate([left.to_us, detailed.to_us]),
        np.concatenate([left.stopped_us, detailed.stopped_us]),
        np.concatenate([left.counted_us, detailed.counted_us]),
        np.concatenate([left.periods, detailed.periods]),
    )
    return joined._at(np.argsort(joined.from_us, kind="stable"))


def per_tick(values: FloatArray) -> FloatArray:
    """Growth of a counter per tick, also where earlier missed ticks are included in it."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return values
    result = values.copy()
    result[known] = values[known] / (known - _since(known) + 1)
    return result


def _covered(coarse: Counted, fine: Counted) -> BoolArray:
    """Coarse ticks that fine ones cover for most of their time."""
    fold = coarse.step_us // fine.step_us
    at = (coarse.start_us - fine.start_us) // fine.step_us + np.arange(len(coarse.periods) + 1) * fold
    before = np.concatenate([[0], np.cumsum(fine.known)])[np.clip(at, 0, len(fine.periods))]
    return np.asarray(np.diff(before) * 2 >= fold)


def _since(known: IntArray) -> IntArray:
    """The first of the ticks that each value covers: those after the previous value."""
    after = np.concatenate([known[:1], known[:-1] + 1])
    return np.where(known - after > MOST_MISSED, known, after)


def _placed(ticks: Counted, wanted: BoolArray, period_us: int, cpus: int, *, by_usage: bool) -> Stalls:
    known = np.flatnonzero(ticks.known)
    lost, ended = np.nan_to_num(ticks.throttled_us[known]), np.nan_to_num(ticks.periods[known])
    chosen = ((lost > 0) | (ended > 0)) & wanted[known]
    at, since = known[chosen], _since(known)[chosen]
    lost, periods = lost[chosen], np.maximum(ended[chosen], 1.0)
    until_us = ticks.start_us + (at + 1) * ticks.step_us
    apart_us = (at + 1 - since) * ticks.step_us / periods
    to_us = until_us - apart_us / 2
    # A stall is no longer than its period: more time than that comes from several run queues.
    queues = np.maximum(1.0, np.ceil(lost / (periods * period_us) - 1e-6))
    if by_usage:
        for one in np.flatnonzero(periods == 1).tolist():
            end_us, lost_us, least = float(to_us[one]), float(lost[one]), int(queues[one])
            queues[one] = _queues(ticks, int(at[one]), end_us, lost_us, period_us, range(least, max(least, cpus) + 1))
    each = lost / (periods * queues)
    from_us = to_us - each - (periods - 1) * np.maximum(apart_us, period_us)
    order = np.argsort(from_us, kind="stable")
    return Stalls(
        np.floor(from_us[order]).astype(np.int64),
        # If only the period was counted, but not yet its throttled time, only the end can be shown.
        np.maximum(np.ceil(to_us[order]), np.floor(from_us[order]) + 1).astype(np.int64),
        (each * periods)[order],
        lost[order],
        periods[order].astype(np.int64),
    )


def _queues(ticks: Counted, at: int, to_us: float, lost_us: float, period_us: int, possible: range) -> int:
    """The number of run queues over which the time was summed.

    It is the fewest with which the cgroup hardly ran during the stall but did run before it, since a period's quota is
    used up before throttling starts.
    """
    # The end is known to half a tick, and so is the beginning: the cgroup may still have run in the first tick.
    slack_us = ticks.step_us / 2
    since = math.floor((to_us - period_us - slack_us - ticks.start_us) / ticks.step_us)
    for queues in possible:
        first = math.ceil((to_us - lost_us / queues + slack_us - ticks.start_us) / ticks.step_us)
        if not _runs(ticks, first, at) and _runs(ticks, since, first):
            return queues
    return possible[-1]


def _runs(ticks: Counted, first: int, end: int) -> bool:
    """Whether the cgroup used CPU in any of the recorded ticks [first, end)."""
    used = ticks.usage_us[max(0, first) : max(0, end)]
    return bool((used[np.isfinite(used)] >= _STILL * ticks.step_us).any())
