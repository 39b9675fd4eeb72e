"""What remains after a fix is predicted only for slow answers that somebody counted."""

from __future__ import annotations

from jitterscope.diagnosis.core import predicted
from jitterscope.diagnosis.core.impact import QUERIES, SLOW_QUERIES
from jitterscope.diagnosis.core.quantity import impact_of
from tests.diagnosis.dns_fix_cases import SLOW
from tests.diagnosis.scenarios import diagnosed

COUNTED = "slow_in_stalls"


def test_which_slow_answers_remain_is_unknown_if_none_were_counted() -> None:
    (found,) = (one for one in diagnosed(SLOW).findings if one.cause == "dns/slow_upstream")
    left = predicted.remaining(found, COUNTED, 0.0, 0.05, 0.5)
    assert left is not None
    assert left.expected < 0.1 * found.impact["slow_ratio"]
    uncounted = found.model_copy(update={"evidence": [item for item in found.evidence if item.id != COUNTED]})
    assert predicted.remaining(uncounted, COUNTED, 0.0, 0.05, 0.5) is None


def test_slow_answers_outside_the_stalls_may_go_too_if_they_are_few() -> None:
    """As measured with page-cache: 19 % slow, 2 % of them outside the stalls, and 0.4 % after the fix."""
    few = predicted.scaled(impact_of({QUERIES: 1_000, SLOW_QUERIES: 190}), 170, 0.0, 0.1, 0.5)
    many = predicted.scaled(impact_of({QUERIES: 1_000, SLOW_QUERIES: 190}), 100, 0.0, 0.1, 0.5)
    assert few is not None
    assert many is not None
    assert (few.low, many.low) == (0.0, 0.09)
    assert (few.expected, many.expected) == (0.037, 0.1)
