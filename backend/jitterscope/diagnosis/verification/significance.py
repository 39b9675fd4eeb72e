"""The tests of a comparison: exact if events are counted, over blocks if amounts are summed.

All are deterministic: if not every rearrangement can be tried, the same ones are drawn each time.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.core.stats import BoolArray

_ALL_UP_TO = 20_000
_DRAWS = 9_999
_REPLICATES = 2_000
# Drawn rearrangements tell a share within about a tenth.
_DRAWN = 0.85
_SEED = 20261121


def rate_p(before: float, before_s: float, after: float, after_s: float) -> float:
    """Two-sided p that two Poisson rates are equal, given counts and exposures; 1 without any event.

    Exact conditional binomial test (Przyborowski and Wilenski 1940); doubled tail.
    """
    k0, k1 = round(before), round(after)
    n = k0 + k1
    if n == 0 or before_s <= 0 or after_s <= 0:
        return 1.0
    share = after_s / (before_s + after_s)
    at_most = float(scipy.special.bdtr(k1, n, share))
    at_least = 1.0 - float(scipy.special.bdtr(k1 - 1, n, share)) if k1 > 0 else 1.0
    return min(1.0, 2 * min(at_most, at_least))


def rate_ratio_high(before: float, before_s: float, after: float, after_s: float, level: float = 0.9) -> float:
    """Upper end of the central interval of after/before of two Poisson rates (Clopper-Pearson); inf without before."""
    k0, k1 = round(before), round(after)
    if k0 == 0 or after_s <= 0:
        return math.inf
    share = float(scipy.special.betaincinv(k1 + 1, k0, (1 + level) / 2))
    return share / (1 - share) * before_s / after_s if share < 1 else math.inf


def needed_s(before: float, before_s: float, alpha: float) -> float:
    """Seconds without an event after which chance no longer explains it, from `before` events in `before_s`.

    From then on `rate_p` is below alpha: both are two-sided. With many events before, it tends to ln(2 / alpha) / rate.
    inf without events before.
    """
    k0 = round(before)
    return before_s * ((alpha / 2) ** (-1 / k0) - 1) if k0 > 0 else math.inf


def needed_blocks(hot: int, blocks: int, alpha: float) -> float:
    """Blocks without the fault after which chance no longer explains that, from `hot` of `blocks` that had it.

    From then on `permutation_p` is below alpha: rearranged, all hot blocks are among the first ones so rarely. Among as
    few others, they would differ as much. inf without hot blocks.
    """
    if not hot:
        return math.inf

    def chance(calm: int) -> float:
        once = math.exp(_log_choices(blocks, hot) - _log_choices(blocks + calm, hot))
        return once if calm > blocks else 2 * once

    # Drawn with replacement, as many would be needed at most.
    low, high = 0, math.ceil(blocks * ((_DRAWN * alpha / 2) ** (-1 / hot) - 1)) + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) < _DRAWN * alpha else (middle + 1, high)
    return float(low)


def _log_choices(n: int, k: int) -> float:
    """The logarithm of n over k."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def permutation_p(part: FloatArray, whole: FloatArray, after: BoolArray) -> float:
    """Two-sided p that sum(part)/sum(whole) is the same in both groups of blocks, by rearranging whole blocks.

    `after` says which group a block is in; NaN blocks are left out. 1 with an empty group. Every rearrangement is tried
    if there are at most 20,000, else 9,999 are drawn. The ratio of sums weights a block by its contents.
    """
    known = np.isfinite(part) & np.isfinite(whole)
    part, whole, after = part[known], whole[known], after[known]
    n, k = len(part), int(after.sum())
    if k == 0 or k == n:
        return 1.0

    def distance(masks: BoolArray) -> FloatArray:
        chosen = masks.astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            one = (chosen @ part) / (chosen @ whole)
            other = ((1 - chosen) @ part) / ((1 - chosen) @ whole)
        return np.abs(np.nan_to_num(one - other))

    seen = float(distance(after[None, :])[0])
    if math.comb(n, k) <= _ALL_UP_TO:
        masks = np.zeros((math.comb(n, k), n), dtype=np.bool_)
        for row, chosen in enumerate(itertools.combinations(range(n), k)):
            masks[row, list(chosen)] = True
        return float((distance(masks) >= seen * (1 - 1e-9)).mean())
    generator = np.random.default_rng(_SEED)
    masks = np.argsort(generator.random((_DRAWS, n)), axis=1) < k
    return float((1 + (distance(masks) >= seen * (1 - 1e-9)).sum()) / (1 + _DRAWS))


def ratio_interval(part: FloatArray, whole: FloatArray, after: BoolArray, level: float = 0.9) -> Interval | None:
    """(after / before) of sum(part)/sum(whole), bootstrap over blocks. None if there is nothing before."""
    known = np.isfinite(part) & np.isfinite(whole)
    old, new = np.flatnonzero(known & ~after), np.flatnonzero(known & after)
    if not len(old) or not len(new) or part[old].sum() <= 0 or whole[new].sum() <= 0:
        return None
    expected = _share(part, whole, new[None, :])[0] / _share(part, whole, old[None, :])[0]
    generator = np.random.default_rng(_SEED)
    numerator = _share(part, whole, new[generator.integers(0, len(new), (_REPLICATES, len(new)))])
    denominator = _share(part, whole, old[generator.integers(0, len(old), (_REPLICATES, len(old)))])
    usable = denominator > 0
    ratios = numerator[usable] / denominator[usable]
    low, high = (float(np.quantile(ratios, q)) for q in ((1 - level) / 2, (1 + level) / 2))
    middle = float(expected)
    return Interval(low=min(low, middle), high=max(high, middle), expected=middle, level=level)


def _share(part: FloatArray, whole: FloatArray, rows: np.typing.NDArray[np.int64]) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: FloatArray = np.nan_to_num(part[rows].sum(axis=1) / whole[rows].sum(axis=1))
    return shares
