"""Which stretches of the trace a replay must simulate in detail: quiet time needs no simulation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray
from jitterscope.diagnosis.core.stats import BoolArray, dilate

# All settings are replayed in the same number of windows, so that two results differ only by the setting.
REPLICATES = 16
# Steps × replicates of one replay: about 40 ms of CPU time.
BUDGET = 170_000
_STEPS_US = (10_000, 20_000, 25_000, 50_000, 100_000)


@dataclass(frozen=True, slots=True)
class Layout:
    """`ticks` (k,): ticks that are replayed, in time order. `step_us`: a fraction of the tick. `replicates`."""

    ticks: IntArray
    step_us: float
    replicates: int

    def steps_of(self, per_tick_us: FloatArray, tick_us: float) -> FloatArray:
        """Per-tick amounts (last axis) spread evenly over the steps of the replayed ticks."""
        parts = self.parts(tick_us)
        return np.repeat(per_tick_us[..., self.ticks] / parts, parts, axis=-1)

    def parts(self, tick_us: float) -> int:
        return max(1, round(tick_us / self.step_us))

    def place(self, at_us: FloatArray, tick_us: float) -> FloatArray:
        """Where a time of the trace lies in the replay, µs from its start; if not replayed, the next tick that is."""
        tick = np.floor(at_us / tick_us).astype(np.int64)
        slot = np.searchsorted(self.ticks, tick)
        inside = np.where(slot < len(self.ticks), self.ticks[np.minimum(slot, len(self.ticks) - 1)] == tick, False)
        placed = slot * tick_us + np.where(inside, at_us - tick * tick_us, 0.0)
        return np.asarray(placed, dtype=np.float64)


def plan(hot: BoolArray, tick_us: int, period_us: float) -> Layout:
    """`hot`: ticks in which work can wait. Two ticks and a period around them are replayed too."""
    around = 1 + int(np.ceil(period_us / tick_us))
    ticks = np.flatnonzero(dilate(hot, around, around))
    if not len(ticks):
        ticks = np.arange(min(len(hot), 2 * around))
    # Coarser only if nearly all of a long window has to be replayed.
    fine = (one for one in _STEPS_US if len(ticks) * tick_us / one * REPLICATES <= BUDGET or one >= tick_us)
    return Layout(ticks, min(float(next(fine)), float(tick_us)), REPLICATES)
