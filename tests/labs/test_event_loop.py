"""The event-loop lab, short: services of Node.js and Python with long functions, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.eventloop.variants import Variant, expected_cause, parameters_of
from labs.eventloop.watched import watch
from labs.product import Product
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches requests: needs root")
SECONDS = 25.0
DRAWN = {"qps": (0.75, 1.25), "report_every": (0.8, 1.3), "report_rows": (0.85, 1.5), "loops": (0.7, 1.5)}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(55, expected_cause(variant)), id=variant)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    report = watch(shared_product, variant, drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    measured, observed = report.measured, report.observed
    assert measured.slow_share is not None
    assert observed.slow_share is not None
    if variant is Variant.CROWDED:
        # Starved for seconds on end: whether a request is an answer or a loss of the window depends on its edges.
        assert [one.cause for one in report.incidents][:1] == [cause]
        assert measured.slow_share > 0.05
        assert observed.slow_share > 0.05
        return
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    assert (measured.slow_share > 0.01) == (cause != "none")
    assert differing(report, {"p50_ms": (0.1, 0.1), "run_delay_s": (0.3, 2.0)}) == {}, "measured, observed"
