"""The search-domains lab, short: real resolvers in pods, a real CoreDNS, the whole product watching."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from jitterscope.labs.hosting import own_product
from jitterscope.labs.product import Product
from jitterscope.labs.search.variants import Variant, expected_cause, parameters_of
from jitterscope.labs.search.watched import watch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and networks: needs root")
SECONDS = 40.0


def say(text: str) -> None:
    print(text)  # noqa: T201


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    with own_product(say) as running:
        yield running


@pytest.mark.timeout(300)
@pytest.mark.parametrize("variant", list(Variant))
def test_variant(product: Product, variant: Variant) -> None:
    parameters = parameters_of(variant, {"seconds": SECONDS})
    report = watch(product, variant, parameters, None, say)
    say(report.model_dump_json())
    cause = expected_cause(parameters)
    found = [one.cause for one in [*report.incidents, *report.risks]]
    assert found[:1] == ([] if cause == "none" else [cause])
    measured, observed = report.measured, report.observed
    assert observed.queries == pytest.approx(measured.queries, rel=0.02)
    assert observed.queries_per_name == pytest.approx(measured.queries_per_name, rel=0.05)
    assert observed.nxdomain_share == pytest.approx(measured.nxdomain_share, abs=0.01)
    assert measured.servfail_share == 0
    assert observed.servfail_share == 0
