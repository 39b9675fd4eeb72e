"""The dns-forward lab, short: a real unbound that limits, real loss, the whole product watching."""

from __future__ import annotations

import math
import os

import pytest

from labs.forwarding.variants import Variant, expected_cause, parameters_of
from labs.forwarding.watched import watch
from labs.product import Product
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and networks: needs root")
SECONDS = 30.0


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    "variant",
    [pytest.param(one, marks=live(50, expected_cause(parameters_of(one, {}))), id=one) for one in Variant],
)
def test_variant(shared_product: Product, variant: Variant) -> None:
    parameters = parameters_of(variant, {"seconds": SECONDS})
    report = watch(shared_product, variant, parameters, None, say)
    say(report.model_dump_json())
    cause = expected_cause(parameters)
    found = causes(report.incidents)
    assert found[:1] == ([] if cause == "none" else [cause])
    measured, observed = report.measured, report.observed
    volleys = math.ceil(SECONDS / parameters.calm_seconds)
    assert measured.queries == pytest.approx(parameters.qps * SECONDS + volleys * parameters.volley, rel=0.02)
    assert observed.queries is not None
    assert observed.nxdomain_share == pytest.approx(measured.nxdomain_share, abs=0.02)
    if variant is Variant.RATE_LIMITED:
        # Those that fail are dropped twice more when CoreDNS retries.
        assert measured.lost_share is not None
        assert 0.3 < measured.lost_share < 0.6
    else:
        assert measured.lost_share == pytest.approx(0.0, abs=0.01)
    if variant is Variant.UDP_LOSS:
        assert measured.slow_share == pytest.approx(parameters.loss_percent / 100, rel=0.5)
