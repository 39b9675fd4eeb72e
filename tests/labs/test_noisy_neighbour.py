"""The noisy-neighbour lab, short: a real unbound and a Go service beside busy loops, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.noisy.variants import Variant, expected_cause, parameters_of
from labs.noisy.watched import watch
from labs.product import Product
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches packets: needs root")
SECONDS = 20.0
DRAWN = {"qps": (0.6, 1.1), "loops": (0.7, 1.7), "hashed_kib": (0.6, 1.5), "shares": (1.0, 4.0)}
STARVED = {Variant.FAULT, Variant.HTTP}
# The kernel counts a wait when it ends: waits longer than a second can begin before the window.
RUN_DELAY = {"run_delay_s": (0.2, 2.0)}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(50, expected_cause(variant)), id=variant)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    parameters = drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS})
    report = watch(shared_product, variant, parameters, None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    assert [one.cause for one in report.incidents][:1] == ([] if cause == "none" else [cause])
    measured, observed = report.measured, report.observed
    assert measured.slow_share is not None
    assert observed.slow_share is not None
    assert measured.run_delay_s is not None
    if variant in STARVED:
        # It is starved for seconds on end; how much of that is an answer and how much a loss depends on the edges.
        assert measured.slow_share > 0.05
        assert observed.slow_share > 0.05
        assert measured.run_delay_s > 0.2 * SECONDS
        return
    if cause == "none":
        assert measured.slow_share < 0.01
    assert differing(report, {"p50_ms": (0.1, 0.05), **RUN_DELAY}) == {}, "measured, observed"
