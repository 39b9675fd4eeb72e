"""The harm that remains when a fix removes some of the stalls."""

from __future__ import annotations

from jitterscope.diagnosis.core.finding import Found, Impact, Interval
from jitterscope.diagnosis.core.impact import QUERIES, SLOW_QUERIES
from jitterscope.diagnosis.core.stats import rule_of_three

# Stalls that contain this share of all slow answers may also be why the others were slow: a queue drains after them.
_NEARLY_ALL = 0.8


def scaled(impact: Impact, slow_inside: int, low: float, expected: float, high: float) -> Interval | None:
    """Slow ratio if `low`..`high` of the stalls' slow answers remain; None if latency is unknown.

    Answers that were slow outside the stalls stay slow; the lower end leaves them out if they are few. The upper end
    adds what chance could have hidden.
    """
    queries, slow = QUERIES.of(impact), SLOW_QUERIES.of(impact)
    if not queries or slow is None:
        return None
    n, rest = int(queries), max(0, int(slow) - slow_inside)
    least = 0 if slow_inside >= _NEARLY_ALL * slow else rest
    return Interval(
        low=min(1.0, (least + low * slow_inside) / n),
        expected=min(1.0, (rest + expected * slow_inside) / n),
        high=min(1.0, max(rule_of_three(rest, n), (rest + high * slow_inside) / n)),
    )


def remaining(
    found: Found, evidence: str, low: float, expected: float, high: float, *, counted: str = "hits"
) -> Interval | None:
    """Slow ratio if `low`..`high` of the slow answers remain that an item of the evidence counts.

    None if the finding lacks that item: which answers the fix is about is then unknown.
    """
    numbers = next((item.numbers for item in found.evidence if item.id == evidence), None)
    return None if numbers is None else scaled(found.impact, int(numbers[counted]), low, expected, high)


def share(now: float | None, low: float, expected: float, high: float) -> Interval | None:
    """A share of which this much remains; None if it is unknown."""
    if now is None:
        return None
    return Interval(low=min(1.0, low * now), expected=min(1.0, expected * now), high=min(1.0, high * now))
