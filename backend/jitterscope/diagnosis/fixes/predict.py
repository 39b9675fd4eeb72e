"""Simple, sound predictions: what stays slow when a share of the stalls goes away. No computation, no number."""

from __future__ import annotations

from jitterscope.diagnosis.finding import Impact, Interval
from jitterscope.diagnosis.stats import rule_of_three


def scaled(impact: Impact, slow_inside: int, low: float, expected: float, high: float) -> Interval | None:
    """Slow ratio when `low`..`high` of the stalls' slow answers remain; None where latency is unknown.

    Answers that were slow outside the stalls stay slow. The upper end adds what chance could have hidden.
    """
    if not impact.queries or impact.slow_queries is None:
        return None
    rest = max(0, impact.slow_queries - slow_inside)
    n = impact.queries
    return Interval(
        low=min(1.0, (rest + low * slow_inside) / n),
        expected=min(1.0, (rest + expected * slow_inside) / n),
        high=min(1.0, max(rule_of_three(rest, n), (rest + high * slow_inside) / n)),
    )


def throttled(impact: Impact, low: float, expected: float, high: float) -> Interval | None:
    """Throttled ratio when so much of it remains."""
    now = impact.throttled_ratio
    if now is None:
        return None
    return Interval(low=min(1.0, low * now), expected=min(1.0, expected * now), high=min(1.0, high * now))


def slow_inside(numbers: dict[str, float]) -> int:
    return int(numbers.get("hits", 0))
