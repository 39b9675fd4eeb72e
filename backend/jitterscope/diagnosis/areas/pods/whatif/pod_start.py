"""What-if: pod starts without (a part of) the time in the verifier.

Histograms do not show how long each start waited for the verifier. So the expected value subtracts the mean from each
start, and the interval spans the two extreme pairings: the slowest start waited longest, or shortest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, PERCENTILES, Durations
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import FloatArray

# Values of the log-bucket histograms are accurate within this ratio.
_RESOLUTION = 0.02
# More starts than this are represented by as many quantiles.
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class Percentile:
    """`q` is 0..1; times in µs."""

    q: float
    before_us: float
    after_us: Interval


@dataclass(frozen=True, slots=True)
class StartsWithout:
    """Starts as they were and as they would be; ratios are of starts over the objective of 5 s."""

    percentiles: tuple[Percentile, ...]
    starts: int
    late: int
    late_ratio: Interval
    removed_us: float  # mean of an affected start


def without(starts: Durations, removed_us: FloatArray, covered_ratio: float = 1.0) -> StartsWithout:
    """Subtract `removed_us` (one value per set of programs, µs) from `covered_ratio` of the starts.

    The others load nothing: pods of the host network. They are assumed to be the quickest.
    """
    values = starts.values_us()
    if len(values) > _MOST:
        values = np.quantile(values, (np.arange(_MOST) + 0.5) / _MOST)
    n = len(values)
    touched = round(min(1.0, max(0.0, covered_ratio)) * n)
    removed = np.sort(removed_us) if len(removed_us) else np.zeros(1)
    ranked = np.quantile(removed, (np.arange(touched) + 0.5) / touched) if touched else np.zeros(0)
    mean = np.full(touched, float(removed.mean()))
    expected = _after(values, mean, slow=True)
    cases = (expected, _after(values, ranked, slow=True), _after(values, ranked[::-1], slow=touched == n))
    late = [float((case > OBJECTIVE_US).mean()) for case in cases]
    return StartsWithout(
        percentiles=tuple(_percentile(starts.quantile_us(q), q, cases) for q in PERCENTILES),
        starts=starts.n,
        late=starts.over(OBJECTIVE_US),
        late_ratio=Interval(low=min(late), high=max(late), expected=late[0]),
        removed_us=float(removed.mean()),
    )


def unchanged(starts: Durations) -> Interval:
    """Share of late starts without any change: the interval that this number of starts allows (Jeffreys)."""
    late, n = starts.over(OBJECTIVE_US), starts.n
    low, high = (float(scipy.special.betaincinv(late + 0.5, n - late + 0.5, q)) for q in (0.05, 0.95))
    return Interval(low=min(low, late / n), high=max(high, late / n), expected=late / n)


def _after(values: FloatArray, removed: FloatArray, *, slow: bool) -> FloatArray:
    """Values less what is removed from the slowest (or the quickest) of them, sorted."""
    left = values.copy()
    part = slice(len(values) - len(removed), None) if slow else slice(0, len(removed))
    left[part] = np.maximum(0.0, left[part] - removed)
    return np.sort(left)


def _quantile(values: FloatArray, q: float) -> float:
    """Like the sketch: the value at rank q (n - 1)."""
    return float(values[min(len(values) - 1, int(q * (len(values) - 1)))])


def _percentile(before_us: float, q: float, cases: tuple[FloatArray, ...]) -> Percentile:
    """Each start is known within the resolution, and so is its remainder."""
    values, unknown = [_quantile(case, q) for case in cases], _RESOLUTION * before_us
    low, high = max(0.0, min(values) - unknown), max(values) + unknown
    return Percentile(q, before_us, Interval(low=low, high=high, expected=values[0]))
