"""The nodelocal-dnsmasq lab, short: real CoreDNS and dnsmasq, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.nodelocal.variants import Parameters, Variant, expected_cause, parameters_of
from labs.nodelocal.watched import PathReport, watch
from labs.product import Product
from tests.support.lab_plan import live
from tests.support.neighbours import Disturbed
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches packets: needs root")
SECONDS = 20.0


def case(variant: Variant, lasts_s: float, **given: float) -> Any:
    cause = expected_cause(parameters_of(variant, given))
    return pytest.param(variant, given, marks=live(lasts_s, cause), id=f"{variant}-{len(given)}")


# What is healthy needs room for the stalls of a machine that also runs the product.
CASES = [
    case(Variant.FAULT, 50),
    case(Variant.FAULT, 50, qps=400, delay_ms=120),
    case(Variant.MAX_TCP_CONNECTIONS, 48),
    case(Variant.PREFER_UDP, 48),
    # One dnsmasq would need 40 connections, eight have 160.
    case(Variant.MORE_REPLICAS, 50, qps=500),
    case(Variant.SLOW_UPSTREAM, 59),
    case(Variant.EDGE, 48),
    case(Variant.POOL_CHURN, 52),
    # A third of the 20 connections are needed; a stall of 93 ms needs the others. At 500/s it would be one of 28 ms.
    case(Variant.HEALTHY, 48, qps=150),
]


@pytest.mark.timeout(500)
@pytest.mark.parametrize(("variant", "given"), CASES)
def test_variant(shared_product: Product, variant: Variant, given: dict[str, float]) -> None:
    parameters = parameters_of(variant, {"seconds": SECONDS, **given})
    cause = expected_cause(parameters)
    report = _run(shared_product, variant, parameters, there=cause != "none")
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    _accounts_agree(report)
    if variant is Variant.FAULT:
        assert report.incident_before_servfail_s is not None
        assert report.incident_before_servfail_s > 0


def _run(product: Product, variant: Variant, parameters: Parameters, there: bool) -> PathReport:
    """A run that made the fault, or did not: otherwise the product's verdict means nothing.

    If the CPUs are busy, even only with the product, dnsmasq falls behind and what should be healthy is not, before the
    load or under it.
    """
    report = watch(product, variant, parameters, None, say)
    say(report.model_dump_json())
    measured = report.measured
    assert measured.slow_share is not None
    if variant is Variant.POOL_CHURN:
        # Half of a volley finds no connection, and a later attempt does; between volleys little can be late.
        made = measured.slow_share > 0.05
    elif there:
        made = measured.slow_share > 0.2 and bool(measured.servfail_share)
    else:
        quiet = (measured.backlog_share or 0.0) < 0.02
        made = measured.slow_share < 0.01 and not measured.servfail_share and quiet
    if not made or parameters.is_disturbed(report.calm_slow_share):
        raise Disturbed(f"not as {variant} is meant: slow before the load {report.calm_slow_share}, then {measured}")
    return report


def _accounts_agree(report: PathReport) -> None:
    """Within 10 %, or what the window's edges and sampling every 100 ms instead of 10 ms change."""
    measured, observed = report.measured, report.observed
    assert observed.p50_ms == pytest.approx(measured.p50_ms, rel=0.1, abs=1)
    assert observed.slow_share == pytest.approx(measured.slow_share, rel=0.1, abs=0.02)
    assert observed.failed_share == pytest.approx(measured.failed_share, rel=0.1, abs=0.02)
    assert observed.children_peak == pytest.approx(measured.children_peak, abs=2)
    assert observed.backlog_share == pytest.approx(measured.backlog_share, abs=0.05)
    if measured.limit_reached_s is not None and measured.backlog_share and measured.backlog_share > 0.5:
        assert observed.limit_reached_s == pytest.approx(measured.limit_reached_s, abs=0.5)
