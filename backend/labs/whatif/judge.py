"""Prediction compared with outcome: what counts as inside, how large an error is, and whether the order is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import median

from pydantic import BaseModel, ConfigDict

from jitterscope.diagnosis.areas.cpu.whatif.types import Prediction
from jitterscope.diagnosis.core.finding import Interval
from labs.figures import Figures
from labs.variants import Parameters

METRICS = ("throttled_ms_per_min", "throttled_ratio", "slow_ratio", "p99_ms")
# The measures by which fixes are ordered, the first before the second.
ORDERED_BY = ("slow_ratio", "throttled_ms_per_min")
# An outcome below this share of the fault's value counts as none: errors are then relative to this share, and two fixes
# closer to each other than this are equally good.
NEGLIGIBLE = 0.1
# At this share of stalled queries, p99 is a stalled query's latency in one run and a fast one's in the next.
P99_JUMPS = (0.005, 0.02)


class Cell(BaseModel):
    """One figure of one fix.

    `error_ratio`: |predicted - outcome| over the outcome, or over a tenth of the fault's value if that is more.
    `remains`: part of the fault remains, predicted or actual. `why`: the reason why the cell cannot be judged.
    """

    model_config = ConfigDict(extra="forbid")

    variant: str
    metric: str
    predicted: float | None
    low: float | None
    high: float | None
    outcome: float | None
    inside: bool | None
    error_ratio: float | None
    remains: bool
    judged: bool
    why: str | None = None


class Order(BaseModel):
    """Fixes, the best first; `pairs_right` of `pairs` are correctly ordered or correctly left tied."""

    predicted: list[str]
    outcome: list[str]
    pairs: int
    pairs_right: int

    @property
    def right(self) -> bool:
        return self.pairs_right == self.pairs


Values = Mapping[str, float | None]


def values_of(figures: Figures, seconds: float) -> dict[str, float | None]:
    """The lab's or the product's figures of a run, by the names that a prediction uses."""
    throttled = figures.throttled_ms
    return {
        "throttled_ms_per_min": None if throttled is None else throttled * 60 / seconds,
        "throttled_ratio": figures.throttled_ratio,
        "slow_ratio": figures.slow_share,
        "p99_ms": figures.p99_ms,
    }


def grain(parameters: Parameters) -> dict[str, float]:
    """The smallest difference that one run can show: one period, one query, or the clocks' resolution."""
    seconds = parameters.seconds
    return {
        "throttled_ms_per_min": 60 / seconds,
        "throttled_ratio": parameters.period_us / (seconds * 1e6),
        "slow_ratio": 1 / max(1.0, seconds * (parameters.qps or 0)),
        "p99_ms": 0.1,
    }


def cells(variant: str, said: Prediction, outcome: Values, fault: Values, grains: Mapping[str, float]) -> list[Cell]:
    """Every figure of one fix. `outcome` and `fault` are the lab's own measurements."""
    return [_cell(variant, metric, said, outcome, fault.get(metric), grains[metric]) for metric in METRICS]


def _cell(variant: str, metric: str, said: Prediction, outcomes: Values, fault: float | None, grain: float) -> Cell:
    interval: Interval | None = getattr(said, metric)
    outcome = outcomes.get(metric)
    if interval is None or outcome is None:
        why = (said.cannot_tell or "cannot tell") if interval is None else "not measured"
        return Cell(
            variant=variant,
            metric=metric,
            predicted=None if interval is None else interval.expected,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            outcome=outcome,
            inside=None,
            error_ratio=None,
            remains=True,
            judged=False,
            why=why,
        )
    scale = max(outcome, NEGLIGIBLE * (fault or 0.0), grain)
    jumps = metric == "p99_ms" and _p99_jumps(said.slow_ratio, outcomes.get("slow_ratio"))
    return Cell(
        variant=variant,
        metric=metric,
        predicted=interval.expected,
        low=interval.low,
        high=interval.high,
        outcome=outcome,
        inside=interval.low - grain <= outcome <= interval.high + grain,
        error_ratio=abs(interval.expected - outcome) / scale,
        remains=max(interval.expected, outcome) > max(NEGLIGIBLE * (fault or 0.0), grain),
        judged=not jumps,
        why="about 1 % of queries" if jumps else None,
    )


def _p99_jumps(said: Interval | None, outcome: float | None) -> bool:
    low, high = P99_JUMPS
    shares = [share for share in (None if said is None else said.expected, outcome) if share is not None]
    return any(low <= share <= high for share in shares)


def order(found: Sequence[Cell], fault: Values, grains: Mapping[str, float]) -> Order:
    """The order from the cells of all fixes of a set."""
    table = {(cell.variant, cell.metric): cell for cell in found}
    variants = list(dict.fromkeys(cell.variant for cell in found))
    known = [
        metric
        for metric in ORDERED_BY
        if all(table[one, metric].predicted is not None and table[one, metric].outcome is not None for one in variants)
    ]
    pairs = [(a, b) for a, b in combinations(variants, 2) if known]
    right = sum(
        all(
            _pair_right(table[a, metric], table[b, metric], _equal(fault.get(metric), grains[metric]))
            for metric in known
        )
        for a, b in pairs
    )
    return Order(
        predicted=sorted(variants, key=lambda one: [table[one, metric].predicted or 0.0 for metric in known]),
        outcome=sorted(variants, key=lambda one: [table[one, metric].outcome or 0.0 for metric in known]),
        pairs=len(pairs),
        pairs_right=right,
    )


def _equal(fault: float | None, grain: float) -> float:
    """How far apart two fixes may be and still count as equally good."""
    return max(NEGLIGIBLE * (fault or 0.0), grain)


def _pair_right(a: Cell, b: Cell, equal: float) -> bool:
    """The same order, equally good in truth, or a prediction that leaves the order open and holds for both."""
    predicted = (a.predicted or 0.0) - (b.predicted or 0.0)
    outcome = (a.outcome or 0.0) - (b.outcome or 0.0)
    if abs(outcome) <= equal or predicted * outcome > 0:
        return True
    overlap = (a.low or 0.0) <= (b.high or 0.0) and (b.low or 0.0) <= (a.high or 0.0)
    return overlap and bool(a.inside) and bool(b.inside)


def inside_ratio(found: Sequence[Cell]) -> float | None:
    """Share of the judged cells whose outcome lies in the interval."""
    judged = [cell for cell in found if cell.judged]
    return sum(bool(cell.inside) for cell in judged) / len(judged) if judged else None


def median_error(found: Sequence[Cell], metric: str, only_remaining: bool = False) -> float | None:
    """Median over the fixes of all sets.

    `only_remaining` leaves out those that were predicted to end the fault and did: their errors are near 0 and flatter
    a median.
    """
    errors = [
        cell.error_ratio
        for cell in found
        if cell.judged and cell.metric == metric and cell.error_ratio is not None
        if cell.remains or not only_remaining
    ]
    return median(errors) if errors else None
