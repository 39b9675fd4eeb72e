"""Small statistics for rules: each answers "could this be chance?" or "which came first?" with a number.

Inputs are per-tick arrays; NaN means a missing tick and is left out, never counted as 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are imported when first used: the one used here takes 0.25 s, scipy.stats a second and 50 MB
from numpy.typing import NDArray

from jitterscope.diagnosis.core.snapshot import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Coincidence:
    """How often ticks of one kind fall into spans of another, compared with chance.

    `chance_ratio` is the share of all ticks that lie in the spans; `lift` = (hits / of) / chance_ratio. `p_independent`
    (exact hypergeometric) treats ticks as independent. Stalls come in runs, so judge by `p_shift`: the share of
    circular shifts of the series that give at least as many hits (never below 1 / ticks).
    """

    hits: int
    of: int
    chance_ratio: float
    lift: float
    p_independent: float
    p_shift: float

    @property
    def beyond_chance(self) -> bool:
        """Twice as often counts too: evenly spaced events match themselves when shifted by one interval."""
        return self.p_shift < 0.05 or self.lift >= 2.0


def coincidence(ticks: BoolArray, spans: BoolArray) -> Coincidence:
    """Coincidence of `ticks` with `spans` (equal length n ≥ 1). With nothing to compare, both p are 1."""
    if ticks.shape != spans.shape or ticks.ndim != 1:
        raise ValueError(f"coincidence needs two arrays of one length, got {ticks.shape} and {spans.shape}")
    n, of, inside = len(ticks), int(ticks.sum()), int(spans.sum())
    hits = int((ticks & spans).sum())
    if n == 0 or of == 0 or inside == 0:
        return Coincidence(hits, of, inside / n if n else 0.0, 0.0, 1.0, 1.0)
    chance = inside / n
    p_independent = hypergeometric_tail(hits, n, inside, of)
    return Coincidence(hits, of, chance, (hits / of) / chance, p_independent, circular_shift_p(ticks, spans))


def hypergeometric_tail(hits: int, population: int, marked: int, drawn: int) -> float:
    """P(at least `hits` of `drawn` without replacement are among the `marked` of `population`), 0..1, exact."""
    if hits <= max(0, drawn + marked - population):
        return 1.0
    count = np.arange(hits, min(drawn, marked) + 1, dtype=np.float64)
    chances = np.exp(
        _log_choose(marked, count) + _log_choose(population - marked, drawn - count)
        - _log_choose(population, np.array([float(drawn)]))
    )  # fmt: skip
    return min(1.0, float(chances.sum()))


def _log_choose(of: int, count: FloatArray) -> FloatArray:
    log_factorial = scipy.special.gammaln
    of_all = log_factorial(of + 1.0)
    return np.asarray(of_all - log_factorial(count + 1.0) - log_factorial(of - count + 1.0), dtype=np.float64)


def average_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[place.reshape(-1)]


def circular_shift_p(ticks: BoolArray, spans: BoolArray) -> float:
    """Share of all n circular shifts of `ticks` that overlap `spans` at least as much as unshifted, 1/n..1.

    Shifting keeps the runs of both series, so autocorrelation does not make chance look impossible.
    """
    n = len(ticks)
    overlaps = np.fft.irfft(np.fft.rfft(spans.astype(np.float64)) * np.conj(np.fft.rfft(ticks.astype(np.float64))), n)
    observed = int((ticks & spans).sum())
    return float((np.rint(overlaps) >= observed).mean())


@dataclass(frozen=True, slots=True)
class LeadLag:
    """`ticks` > 0: the first series leads the second by this many ticks; `correlation` is Pearson's r there."""

    ticks: int
    correlation: float


def lead_lag(first: FloatArray, second: FloatArray, max_ticks: int) -> LeadLag:
    """The lag within ±max_ticks at which the two correlate best; ties go to the smallest lag. r is 0 where flat."""
    best = LeadLag(0, 0.0)
    for lag in sorted(range(-max_ticks, max_ticks + 1), key=lambda value: (abs(value), -value)):
        a = first[: len(first) - lag] if lag >= 0 else first[-lag:]
        b = second[lag:] if lag >= 0 else second[: len(second) + lag]
        r = _pearson(a, b)
        if r > best.correlation + 1e-12:
            best = LeadLag(lag, r)
    return best


def _pearson(a: FloatArray, b: FloatArray) -> float:
    both = np.isfinite(a) & np.isfinite(b)
    if both.sum() < 3:
        return 0.0
    x, y = a[both] - a[both].mean(), b[both] - b[both].mean()
    scale = math.sqrt(float((x * x).sum()) * float((y * y).sum()))
    return 0.0 if scale <= 1e-12 else float(np.clip((x * y).sum() / scale, -1.0, 1.0))


@dataclass(frozen=True, slots=True)
class DoseResponse:
    """Spearman's rank correlation over `n` pairs; `p` one-sided (more dose, more response), t approximation."""

    rho: float
    n: int
    p: float


def dose_response(dose: FloatArray, response: FloatArray) -> DoseResponse:
    """Whether more of one goes with more of the other. Needs 4 pairs; otherwise rho 0, p 1."""
    both = np.isfinite(dose) & np.isfinite(response)
    n = int(both.sum())
    if n < 4:
        return DoseResponse(0.0, n, 1.0)
    rho = _pearson(average_ranks(dose[both]), average_ranks(response[both]))
    if rho >= 1.0 - 1e-12:
        return DoseResponse(1.0, n, 1.0 / math.factorial(min(n, 20)))
    t = rho * math.sqrt((n - 2) / max(1e-12, 1.0 - rho * rho))
    return DoseResponse(rho, n, float(scipy.special.stdtr(n - 2, -t)))


def burst_ratio(values: FloatArray) -> float:
    """Largest tick over the mean; 1 is perfectly even, NaN without data or with a zero mean."""
    known = values[np.isfinite(values)]
    mean = float(known.mean()) if len(known) else 0.0
    return float(known.max()) / mean if mean > 0 else float("nan")


@dataclass(frozen=True, slots=True)
class Baseline:
    """Median and spread (1.4826 × median absolute deviation, ≈ σ of a normal) of `n` known ticks."""

    median: float
    spread: float
    n: int


def robust_baseline(values: FloatArray) -> Baseline:
    """A baseline robust against up to half the ticks being disturbed; NaN without data."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Baseline(float("nan"), float("nan"), 0)
    median = float(np.median(known))
    return Baseline(median, 1.4826 * float(np.median(np.abs(known - median))), len(known))


def dilate(mask: BoolArray, before: int, after: int) -> BoolArray:
    """True within `before` ticks ahead of, or `after` ticks behind, a true tick."""
    grown = mask.copy()
    for shift in range(1, before + 1):
        grown[:-shift] |= mask[shift:]
    for shift in range(1, after + 1):
        grown[shift:] |= mask[:-shift]
    return grown


def rule_of_three(failures: int, trials: int) -> float:
    """Upper end of a one-sided 95 % interval of a rate after few failures (Poisson, normal approximation above)."""
    if trials <= 0:
        return 1.0
    return min(1.0, (failures + 3.0 + 1.65 * math.sqrt(failures)) / trials)
