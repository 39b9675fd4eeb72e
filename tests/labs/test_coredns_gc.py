"""The lab itself, short: real CoreDNS, real limits, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.figures import Figures
from labs.product import Product
from labs.report import Report
from labs.variants import Variant, parameters_of
from labs.watched import expected_cause, watch
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches packets: needs root")
SECONDS = 20.0


def case(variant: Variant, lasts_s: float, **given: object) -> Any:
    return pytest.param(variant, given, marks=live(lasts_s, expected_cause(variant)), id=f"{variant}-{len(given)}")


CASES = [
    case(Variant.FAULT, 42),
    case(Variant.FAULT, 42, quota_us=30_000, records=250_000, qps=600),
    case(Variant.LIMIT, 42),
    case(Variant.OVERLOAD, 47),
    case(Variant.REQUEST_BURST, 47),
    case(Variant.PERIODIC_BURST, 40),
    case(Variant.GC_SPIRAL, 42),
    case(Variant.HEALTHY, 42),
]


@pytest.mark.timeout(500)
@pytest.mark.parametrize(("variant", "given"), CASES)
def test_variant(shared_product: Product, variant: Variant, given: dict[str, object]) -> None:
    report = watch(shared_product, variant, parameters_of(variant, {"seconds": SECONDS, **given}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    assert causes(report.incidents) == ([] if cause == "none" else [cause])
    _symptom(report, there=cause != "none")
    assert differing(report) == {}, "measured, observed"
    if cause != "none":
        assert report.time_to_incident_s is not None
        assert report.time_to_incident_s > -1


def _symptom(report: Report[Figures], there: bool) -> None:
    """The lab made the fault, or did not: otherwise the verdict above means nothing."""
    assert report.measured.slow_share is not None
    assert report.measured.throttled_ratio is not None
    if there:
        assert report.measured.slow_share > 0.005
        assert report.measured.throttled_ratio > 0.01
    else:
        assert report.measured.slow_share < 0.005
        assert report.measured.throttled_ratio == 0
