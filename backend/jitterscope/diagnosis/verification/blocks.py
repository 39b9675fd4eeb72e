"""Cuts recorded ticks into blocks: what a comparison of before with after takes as one observation.

Neighbouring ticks belong to the same stall and are no independent observations; blocks of 10 s nearly are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from jitterscope.diagnosis.snapshot import FloatArray, IntArray
from jitterscope.diagnosis.stats import BoolArray

BLOCK_US = 10_000_000
# Quiet ticks inside one stall: its throttled time is credited when it ends.
_GAP_TICKS = 3
# A stall that goes on is counted again for each such stretch, so that an overload is more than one event.
_LONG_S = 10.0


@dataclass(frozen=True, slots=True)
class Ticks:
    """One side of a comparison: per-tick arrays of length n from `start_us`; NaN is missing, None never measured.

    CPU and throttled time in µs, the others are counts.
    """

    start_us: int
    step_us: int
    usage_us: FloatArray
    throttled_us: FloatArray | None = None
    periods: FloatArray | None = None
    throttled_periods: FloatArray | None = None
    queries: FloatArray | None = None
    slow: FloatArray | None = None
    gc_cycles: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Blocks:
    """Sums over blocks of `step_us`; length n. `seconds` is what of each was recorded; NaN: not measured in it."""

    t_us: IntArray
    step_us: int
    seconds: FloatArray
    usage_us: FloatArray
    throttled_us: FloatArray
    periods: FloatArray
    throttled_periods: FloatArray
    queries: FloatArray
    slow: FloatArray
    gc_cycles: FloatArray
    stalls: FloatArray

    def __len__(self) -> int:
        return len(self.t_us)

    def only(self, keep: BoolArray) -> Blocks:
        """Some of the blocks."""
        return Blocks(
            **{f.name: value if f.name == "step_us" else value[keep] for f in fields(self)
               for value in [getattr(self, f.name)]}
        )  # fmt: skip

    @property
    def exposure_s(self) -> float:
        return float(self.seconds.sum())

    @property
    def load(self) -> FloatArray:
        """Queries per second, or CPUs used where no queries are counted."""
        return self.queries / self.seconds if self.has("queries") else self.usage_us / self.seconds / 1e6

    def has(self, name: str) -> bool:
        """Whether it was measured in at least half of the blocks."""
        known = np.isfinite(getattr(self, name))
        return len(known) > 0 and bool(known.mean() >= 0.5)

    def share(self, part: str, whole: str) -> float | None:
        """Sum of one over the sum of another, blocks in which both are known; None without any."""
        a, b = getattr(self, part), getattr(self, whole)
        both = np.isfinite(a) & np.isfinite(b)
        total = float(b[both].sum())
        return float(a[both].sum()) / total if total > 0 else None


def blocks(ticks: Ticks, block_us: int = BLOCK_US) -> Blocks:
    """Whole blocks from the first tick on; those that were recorded for less than half are left out."""
    size = max(1, block_us // ticks.step_us)
    count = len(ticks.usage_us) // size
    tick_s = ticks.step_us / 1e6

    def known(values: FloatArray | None) -> FloatArray:
        return np.full(count * size, np.nan) if values is None else values[: count * size]

    def total(values: FloatArray | None) -> FloatArray:
        """Scaled to the block's recorded time; NaN where less than half of it has this value."""
        folded = known(values).reshape(count, size)
        present = np.isfinite(folded).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.nansum(folded, axis=1) * (recorded / np.maximum(present, 1))
        return np.where(present * 2 >= recorded, scaled, np.nan)

    recorded = np.isfinite(known(ticks.usage_us).reshape(count, size)).sum(axis=1).astype(np.float64)
    made = Blocks(
        t_us=ticks.start_us + np.arange(count, dtype=np.int64) * (size * ticks.step_us),
        step_us=size * ticks.step_us,
        seconds=recorded * tick_s,
        usage_us=total(ticks.usage_us),
        throttled_us=total(ticks.throttled_us),
        periods=total(ticks.periods),
        throttled_periods=total(ticks.throttled_periods),
        queries=total(ticks.queries),
        slow=total(ticks.slow),
        gc_cycles=total(ticks.gc_cycles),
        stalls=total(stalls(ticks)),
    )
    return made.only(recorded * 2 >= size)


def stalls(ticks: Ticks) -> FloatArray | None:
    """Events per tick: 1 where a run of throttled ticks begins, and again for each 10 s that it lasts; NaN unknown."""
    source = ticks.throttled_periods if ticks.throttled_periods is not None else ticks.throttled_us
    if source is None:
        return None
    events = np.where(np.isfinite(source), 0.0, np.nan)
    hot = np.flatnonzero(np.nan_to_num(source) > 0)
    if not len(hot):
        return events
    starts = np.concatenate([[0], np.flatnonzero(np.diff(hot) > _GAP_TICKS) + 1])
    ends = np.append(starts[1:], len(hot)) - 1
    long_ticks = max(1, math.ceil(_LONG_S * 1e6 / ticks.step_us))
    for first, last in zip(hot[starts].tolist(), hot[ends].tolist(), strict=True):
        events[np.arange(first, last + 1, long_ticks)] = 1.0
    return events
