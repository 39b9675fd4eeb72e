"""Possible alternative outcomes: draws for the replicates of a replay, and intervals from their results.

A replicate is another window of the same length: another phase of the CFS period, cycles that cost what other cycles of
the trace cost (a bootstrap over cycles), a run in which they all cost slightly more or less, a cycle more or less. All
settings get the same draws, so that predictions differ only by the settings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import FloatArray

# CPU of a GC cycle between runs of one program (σ of the logarithm of their ratio). The mean cycle took 165, 221, 234,
# and 271 ms in four runs of case 1: σ 0.21 each, so 0.3 between two.
RUN_SPREAD = 0.3
# The part of the model's error that it adds to an equally large spread of the replicates.
_PART = 0.6
_SEED = 20_251_121


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of R replicates; the first is the trace as it was.

    `phase` (R,) 0..1 of a period; `cost` (R,) factors of all bursts; `pick` (R, bursts) which burst's cost each has,
    0..1; `shift` (R, bursts) -0.5..0.5 ticks; `present` (R,) 0..1; `number` (R,) -0.5..0.5 cycles more or less; `extra`
    (R,) standard normal.
    """

    phase: FloatArray
    cost: FloatArray
    pick: FloatArray
    shift: FloatArray
    present: FloatArray
    number: FloatArray
    extra: FloatArray


def draws(replicates: int, bursts: int) -> Draws:
    """Deterministic for equal arguments; more replicates extend fewer."""
    random = np.random.default_rng(_SEED)
    # Even quantiles of what affects the whole run: a few replicates then represent many.
    even = (np.arange(replicates) + 0.5) / replicates
    normal = _normal(even[random.permutation(replicates)])
    normal[0] = 0.0
    phase = even[random.permutation(replicates)]
    present = even[random.permutation(replicates)]
    number = even[random.permutation(replicates)] - 0.5
    number[0] = 0.0
    extra = _normal(even[random.permutation(replicates)])
    pick = random.random((replicates, bursts))
    shift = random.random((replicates, bursts)) - 0.5
    shift[0] = 0.0
    return Draws(phase, np.exp(RUN_SPREAD * normal), pick, shift, present, number, extra)


def _normal(uniform: FloatArray) -> FloatArray:
    return np.asarray(scipy.special.ndtri(uniform), dtype=np.float64)


def interval(
    values: FloatArray, level: float, spread: float = 0.0, grain: float = 0.0, top: float = np.inf
) -> Interval:
    """Median and central `level` of the replicates, widened by a relative model error and by one `grain`.

    `spread`: σ of the logarithm of the model error. Exact zeros of all replicates stay 0 at the low end.
    """
    tail = (1 - level) / 2
    low, middle, high = (float(value) for value in np.quantile(values, [tail, 0.5, 1 - tail]))
    # Independent errors add in quadrature, so less than all of it; each end by its own value alone, so that shifting
    # every replicate up shifts both ends up.
    by = float(np.exp(_PART * spread * _normal(np.array([1 - tail]))[0]))
    return Interval(
        low=float(max(0.0, low / by - grain)), expected=middle, high=float(min(high * by + grain, top)), level=level
    )


def widened(value: Interval, swing: float, top: float = np.inf) -> Interval:
    """The interval extended by `swing` on either side, within 0 and `top`."""
    return value.model_copy(update={"low": max(0.0, value.low - swing), "high": float(min(top, value.high + swing))})


def count_swing(count: float, level: float) -> float:
    """How far the count of rare, independent events in another window of the same length may differ from this one.

    The difference of two Poisson counts has a variance of twice their mean; the half keeps "none seen" from meaning
    "never".
    """
    return float(_normal(np.array([(1 + level) / 2]))[0]) * float(np.sqrt(2 * count + 0.5))
