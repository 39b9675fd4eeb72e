"""The search-domains lab, short: real resolvers in pods, a real CoreDNS, the whole product watching."""

from __future__ import annotations

import os

import pytest

from labs.product import Product
from labs.search.variants import Variant, expected_cause, parameters_of
from labs.search.watched import watch
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and networks: needs root")
SECONDS = 40.0


@pytest.mark.timeout(500)
@pytest.mark.parametrize(
    "variant",
    [pytest.param(one, marks=live(60, expected_cause(parameters_of(one, {}))), id=one) for one in Variant],
)
def test_variant(shared_product: Product, variant: Variant) -> None:
    parameters = parameters_of(variant, {"seconds": SECONDS})
    report = watch(shared_product, variant, parameters, None, say)
    say(report.model_dump_json())
    cause = expected_cause(parameters)
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    if cause == "none":
        assert report.risks == []
    measured, observed = report.measured, report.observed
    assert observed.queries == pytest.approx(measured.queries, rel=0.02)
    assert observed.queries_per_name == pytest.approx(measured.queries_per_name, rel=0.05)
    assert observed.nxdomain_share == pytest.approx(measured.nxdomain_share, abs=0.01)
    assert measured.servfail_share == 0
    assert observed.servfail_share == 0
