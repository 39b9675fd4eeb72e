"""The figures of a comparison: each before and after, with a test, an interval and what was predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.finding import Interval
from jitterscope.diagnosis.snapshot import FloatArray
from jitterscope.diagnosis.verification import significance
from jitterscope.diagnosis.verification.blocks import Blocks

Metric = Literal["slow_ratio", "throttled_ms_per_min", "throttled_ratio", "p99_ms", "gc_cycles_per_min"]
Unit = Literal["ms/min", "ratio", "ms", "1/min"]
TITLES: dict[Metric, tuple[str, Unit]] = {
    "slow_ratio": ("Slow queries", "ratio"),
    "throttled_ms_per_min": ("Throttled time", "ms/min"),
    "throttled_ratio": ("Throttled periods", "ratio"),
    "p99_ms": ("p99 latency", "ms"),
    "gc_cycles_per_min": ("GC cycles", "1/min"),
}
# An outcome below this share of what was before is as good as none: errors are relative to no less.
NEGLIGIBLE = 0.1
_FEW = 5
_BLOCKS = "10 s blocks rearranged between before and after"
_STALLS = "stalls counted, exact test of two rates"
_CYCLES = "cycles counted, exact test of two rates"


@dataclass(frozen=True, slots=True)
class Measure:
    """`ratio` is after / before (90 %), `p_value` two-sided; None where they cannot be told. `decides`: the verdict
    looks at it. `inside`: `after` lies in `predicted`, give or take what one event makes."""

    metric: Metric
    before: float | None
    after: float | None
    ratio: Interval | None
    p_value: float | None
    test: str | None
    decides: bool
    predicted: Interval | None
    inside: bool | None
    grain: float

    @property
    def error_ratio(self) -> float | None:
        """|predicted - after| over the outcome, or over a tenth of what was before where that is more."""
        if self.predicted is None or self.after is None:
            return None
        scale = max(self.after, NEGLIGIBLE * (self.before or 0.0), self.grain)
        return abs(self.predicted.expected - self.after) / scale


def measures(
    before: Blocks, after: Blocks, predicted: Mapping[str, Interval], p99_ms: tuple[float | None, float | None]
) -> tuple[Measure, ...]:
    """What is known on both sides; those that decide first, what people feel ahead of its mechanism."""
    found: list[Measure] = []
    stalls = _Stalls(before, after)
    slow = _over_blocks("slow_ratio", before, after, "slow", "queries", 1.0, predicted, stalls)
    throttled = _over_blocks("throttled_ms_per_min", before, after, "throttled_us", "seconds", 0.06, predicted, stalls)
    ratio = _over_blocks("throttled_ratio", before, after, "throttled_periods", "periods", 1.0, predicted, stalls)
    found.extend(one for one in (slow, throttled) if one is not None)
    if ratio is not None:
        found.append(_with_test(ratio, stalls.p, _STALLS))
    p99 = _plain("p99_ms", p99_ms, 0.1, predicted)
    if p99 is not None:
        found.append(p99)
    cycles = _over_blocks("gc_cycles_per_min", before, after, "gc_cycles", "seconds", 60.0, predicted, None)
    if cycles is not None:
        counts = float(np.nansum(before.gc_cycles)), float(np.nansum(after.gc_cycles))
        p = significance.rate_p(counts[0], before.exposure_s, counts[1], after.exposure_s)
        found.append(_with_test(cycles, p, _CYCLES))
    return tuple(found)


class _Stalls:
    """How many stalls there were on each side, and what that alone says about the ratio."""

    def __init__(self, before: Blocks, after: Blocks) -> None:
        self.counted = before.has("stalls") and after.has("stalls")
        k0, k1 = float(np.nansum(before.stalls)), float(np.nansum(after.stalls))
        self.ratio_high = significance.rate_ratio_high(k0, before.exposure_s, k1, after.exposure_s)
        self.few = self.counted and k1 < _FEW and np.isfinite(self.ratio_high)
        self.p = significance.rate_p(k0, before.exposure_s, k1, after.exposure_s) if self.counted else None


def _over_blocks(
    metric: Metric,
    before: Blocks,
    after: Blocks,
    part: str,
    whole: str,
    scale: float,
    predicted: Mapping[str, Interval],
    stalls: _Stalls | None,
) -> Measure | None:
    old, new = before.share(part, whole), after.share(part, whole)
    if old is None or new is None or not (before.has(part) and after.has(part)):
        return None
    parts: FloatArray = np.concatenate([getattr(before, part), getattr(after, part)])
    wholes: FloatArray = np.concatenate([getattr(before, whole), getattr(after, whole)])
    is_after = np.arange(len(parts)) >= len(before)
    ratio = significance.ratio_interval(parts, wholes, is_after)
    if ratio is not None and stalls is not None and stalls.few:
        # That blocks are alike says little then; how many stalls there can be says more.
        ratio = ratio.model_copy(update={"high": max(ratio.high, stalls.ratio_high)})
    grain = scale / max(1e-9, float(np.nansum(getattr(after, whole))))
    if metric == "throttled_ms_per_min":
        grain = 60.0 / max(1.0, after.exposure_s)
    return Measure(
        metric=metric,
        before=old * scale,
        after=new * scale,
        ratio=ratio,
        p_value=significance.permutation_p(parts, wholes, is_after),
        test=_BLOCKS,
        decides=metric in ("slow_ratio", "throttled_ms_per_min") and max(old, new) > 0,
        predicted=predicted.get(metric),
        inside=_inside(predicted.get(metric), new * scale, grain),
        grain=grain,
    )


def _plain(
    metric: Metric, values: tuple[float | None, float | None], grain: float, predicted: Mapping[str, Interval]
) -> Measure | None:
    """Without a test: a quantile of all queries has no blocks."""
    old, new = values
    if old is None or new is None:
        return None
    interval = predicted.get(metric)
    return Measure(metric, old, new, None, None, None, False, interval, _inside(interval, new, grain), grain)


def _with_test(one: Measure, p: float | None, test: str) -> Measure:
    return Measure(
        one.metric, one.before, one.after, one.ratio, p, None if p is None else test, False, one.predicted, one.inside,
        one.grain,
    )  # fmt: skip


def _inside(predicted: Interval | None, value: float, grain: float) -> bool | None:
    return None if predicted is None else predicted.low - grain <= value <= predicted.high + grain
