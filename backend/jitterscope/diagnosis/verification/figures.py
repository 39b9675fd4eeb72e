"""The figures of a comparison: each before and after, with a test, an interval, and the prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.core.area import Measure
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.verification import significance
from jitterscope.diagnosis.verification.blocks import Blocks, Column

# An outcome below this share of the value before counts as zero: relative errors use at least this as the scale.
NEGLIGIBLE = 0.1
# With fewer events, their distribution over the blocks says little.
_FEW = 5
_BLOCKS = "10 s blocks rearranged between before and after"
_EVENTS = "events counted, exact test of two rates"


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure before and after. `ratio` is after / before (90 %), `p_value` two-sided; None if unknown.

    `decides`: the verdict uses it. `inside`: `after` lies in `predicted`, within the effect of one event. `columns` are
    its blocks before and after, if it has any.
    """

    measure: Measure
    before: float | None
    after: float | None
    ratio: Interval | None
    p_value: float | None
    test: str | None
    decides: bool
    predicted: Interval | None
    inside: bool | None
    grain: float
    columns: tuple[Column, Column] | None = None

    @property
    def error_ratio(self) -> float | None:
        """|predicted - after| over the outcome, or over a tenth of the value before if that is larger."""
        if self.predicted is None or self.after is None:
            return None
        scale = max(abs(self.after), NEGLIGIBLE * abs(self.before or 0.0), self.grain)
        return abs(self.predicted.expected - self.after) / scale

    @property
    def change(self) -> Interval | None:
        """The remaining share of the harm: after / before, or before / after if more is better."""
        ratio = self.ratio
        if ratio is None or self.measure.better == "lower":
            return ratio
        low, high, expected = (1 / max(value, 1e-12) for value in (ratio.high, ratio.low, ratio.expected))
        return Interval(low=low, high=high, expected=expected, level=ratio.level)

    @property
    def noticed(self) -> bool:
        """Whether the difference is large enough to be noticeable."""
        return (
            self.before is not None and self.after is not None and abs(self.after - self.before) >= self.measure.least
        )


def figures(
    before: Blocks,
    after: Blocks,
    measures: Sequence[Measure],
    deciding: Sequence[str],
    predicted: Mapping[str, Interval],
) -> tuple[Figure, ...]:
    """The figures known on both sides; those of `deciding` first and in that order, then the others.

    A sign of something that is itself measured decides nothing: more room is used for longer, and that is no harm.
    """
    order = {name: number for number, name in enumerate(deciding)}
    found = []
    for measure in sorted(measures, key=lambda one: order.get(one.id, len(order))):
        old, new = before.columns.get(measure.id), after.columns.get(measure.id)
        interval = predicted.get(measure.id)
        if old is not None and new is not None:
            if old.known and new.known and old.figure is not None and new.figure is not None:
                found.append(_over_blocks(measure, old, new, measure.id in order, interval))
        elif measure.id in before.window and measure.id in after.window:
            found.append(_plain(measure, before.window[measure.id], after.window[measure.id], interval))
    happened = {one.measure.id for one in found if one.decides and one.before}
    return tuple(replace(one, decides=one.decides and one.measure.sign_of not in happened) for one in found)


def _over_blocks(measure: Measure, before: Column, after: Column, decides: bool, predicted: Interval | None) -> Figure:
    old, new = before.figure, after.figure
    assert old is not None
    assert new is not None
    parts: FloatArray = np.concatenate([before.part, after.part])
    wholes: FloatArray = np.concatenate([before.whole, after.whole])
    is_after = np.arange(len(parts)) >= len(before.part)
    ratio = significance.ratio_interval(parts, wholes, is_after)
    by_count = counts_itself(before) and counts_itself(after)
    p_value, test = 1.0 if by_count else significance.permutation_p(parts, wholes, is_after), _BLOCKS
    if before.events is not None and after.events is not None:
        k0, k1 = float(np.nansum(before.events)), float(np.nansum(after.events))
        exposures = _totals(before, after) if by_count else (before.exposure_s, after.exposure_s)
        high = significance.rate_ratio_high(k0, exposures[0], k1, exposures[1])
        if ratio is not None and k1 < _FEW and np.isfinite(high):
            # Similar blocks say little then; the possible number of events says more.
            ratio = ratio.model_copy(update={"high": max(ratio.high, high)})
        if by_count:
            p_value, test = significance.rate_p(k0, exposures[0], k1, exposures[1]), _EVENTS
    grain = max(measure.least, 1 / max(1e-9, float(np.nansum(after.whole))))
    return Figure(
        measure=measure,
        before=old,
        after=new,
        ratio=ratio,
        p_value=p_value,
        test=test,
        decides=decides and max(abs(old), abs(new)) > 0,
        predicted=predicted,
        inside=_inside(predicted, new, grain),
        grain=grain,
        columns=(before, after),
    )


def counts_itself(column: Column) -> bool:
    """Whether the measure sums the events themselves: kills, late starts; not stalls with their milliseconds."""
    return column.events is not None and bool(np.array_equal(column.events, column.part, equal_nan=True))


def _totals(before: Column, after: Column) -> tuple[float, float]:
    return float(np.nansum(before.whole)), float(np.nansum(after.whole))


def _plain(measure: Measure, old: float, new: float, predicted: Interval | None) -> Figure:
    """Without a test: a figure of the whole window, such as a quantile, has no blocks."""
    grain = max(measure.least, 0.05 * new)
    return Figure(measure, old, new, None, None, None, False, predicted, _inside(predicted, new, grain), grain)


def _inside(predicted: Interval | None, value: float, grain: float) -> bool | None:
    return None if predicted is None else predicted.low - grain <= value <= predicted.high + grain
