"""The one rule for how bad a finding is: how many queries suffered, and how badly.

| severity | when                                                                                   |
| -------- | -------------------------------------------------------------------------------------- |
| critical | at least 1 % of queries slow and the slowest took 100 ms or more; or 10 % slow; or     |
|          | 0.5 % without an answer                                                                |
| warning  | at least 0.1 % of queries slow (and 5 of them), or 50 slow ones, or any lost ones      |
| info     | at least 3 slow queries                                                                |
| None     | fewer, or no latency is known: nobody was hurt that we know of, so it is a risk        |

Slow means over 20 ms and far over what is usual, or over the objective that somebody set. Counted are slow queries
inside the stalls of the finding, over the queries since its first stall, at least 10 s of them, so that one bad second
in a quiet minute is not a 100 % outage. Of those over an objective only what it does not allow counts: of p99 what is
beyond 1 %; and instead of 100 ms it is five times the objective.
"""

from __future__ import annotations

from jitterscope.diagnosis.core.finding import Confidence, Harm, Severity
from jitterscope.series import catalogue

SLOW_US = catalogue.SLOW_US
# The slowest answer is bad if it took this many times the slow threshold.
_BAD = 5.0


def severity(
    slow: float, queries: float, max_ms: float | None, lost: float = 0.0, objective_us: float = SLOW_US
) -> Severity | None:
    """`slow` and `lost` of `queries` were harmed by the finding's own stalls; `max_ms` is the slowest of them."""
    if queries <= 0:
        return None
    ratio, bad_ms = slow / queries, _BAD * objective_us / 1000
    if (ratio >= 0.01 and slow >= 5 and (max_ms or 0.0) >= bad_ms) or (ratio >= 0.1 and slow >= 20):
        return "critical"
    if lost >= 5 and lost / queries >= 0.005:
        return "critical"
    if (ratio >= 0.001 and slow >= 5) or slow >= 50 or lost >= 5:
        return "warning"
    return "info" if slow >= 3 else None


def harm_of(level: Severity | None, *, known: bool) -> Harm:
    """The harm of a severity that rests on measurements; `known`: what would show harm was recorded."""
    if level is not None:
        return "measured"
    return "none" if known else "not_measured"


def lowered(level: Confidence, missing: int) -> Confidence:
    """Lower the confidence by this many steps, at lowest to "low"."""
    steps: tuple[Confidence, ...] = ("low", "medium", "high")
    return steps[max(0, steps.index(level) - missing)]
