"""The slow-dependency lab, short: a Go service calls a real PostgreSQL or another service, the product watches."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.dependency.variants import Variant, expected_cause, parameters_of
from labs.dependency.watched import watch
from labs.product import Product
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches requests: needs root")
SECONDS = 25.0
DRAWN = {
    "qps": (0.85, 1.2), "connections": (0.5, 1.5), "lock_ms": (0.5, 1.75), "lock_every_ms": (0.75, 1.25),
    "heavy_every": (0.8, 1.5), "heavy_rows": (0.8, 1.45), "slow_every": (0.75, 1.75), "slow_ms": (0.4, 2.0),
    "own_slow_every": (0.6, 1.6), "own_slow_ms": (0.7, 2.5), "objects": (0.95, 1.25), "quota_us": (0.88, 1.12),
}  # fmt: skip
CALLS_ARE_SLOW = {Variant.FAULT, Variant.HEAVY_QUERY, Variant.HTTP, Variant.THROTTLED}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(60, expected_cause(variant)), id=variant)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    report = watch(shared_product, variant, drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    told = causes(report.incidents)
    if variant is Variant.THROTTLED:
        # Whichever is noticed first, what the service waits for ends up as part of the other one's incident.
        assert cause in told
        assert set(told) <= {cause, "app/lock_or_dependency"}
        assert any("/shop-" in key for one in report.incidents if one.cause == cause for key in one.also_affected)
    else:
        assert told[:1] == ([] if cause == "none" else [cause])
    measured, observed = report.measured, report.observed
    assert measured.slow_share is not None
    assert measured.slow_calls is not None
    assert observed.slow_calls is not None
    # How often the dependency is throttled in 25 s depends on the machine's speed.
    assert measured.slow_share < 0.005 if variant is Variant.HEALTHY else measured.slow_share > 0.001
    if variant in CALLS_ARE_SLOW:
        assert measured.slow_calls > 10
        assert observed.slow_calls == pytest.approx(measured.slow_calls, rel=0.1)
        assert observed.slowest_call_ms == pytest.approx(measured.slowest_call_ms, rel=0.15)
    assert differing(report, {"p50_ms": (0.1, 0.1), "slow_calls": (0.1, 3), "slowest_call_ms": (0.15, 5)}) == {}
