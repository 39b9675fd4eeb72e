"""What remains after a fix is predicted only for slow answers that somebody counted."""

from __future__ import annotations

from jitterscope.diagnosis.core import predicted
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
