"""The coredns-oom lab, short: a real CoreDNS under a real memory limit, the whole product watching."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from jitterscope.labs.hosting import own_product
from jitterscope.labs.oom.variants import Variant, expected_cause, parameters_of
from jitterscope.labs.oom.watched import OomReport, watch
from jitterscope.labs.product import Product

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches packets: needs root")
# The upstream of the fault and of its cures is as slow as that.
TRUE_TOO = {"dns/slow_upstream"}


def say(text: str) -> None:
    print(text)  # noqa: T201


@pytest.fixture(scope="module")
def product() -> Iterator[Product]:
    with own_product(say) as running:
        yield running


CASES = [
    (Variant.FAULT, {"seconds": 12}),
    (Variant.FAULT, {"seconds": 10, "memory_mib": 96, "qps": 1_200, "calm_seconds": 6}),
    (Variant.MAX_CONCURRENT, {"seconds": 12}),
    (Variant.MORE_MEMORY, {"seconds": 12, "qps": 1_000}),
    (Variant.LEAK, {"memory_mib": 64, "seconds": 60}),
    (Variant.HEALTHY, {"seconds": 12}),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("variant", "given"), CASES, ids=[f"{variant}-{len(given)}" for variant, given in CASES])
def test_variant(product: Product, variant: Variant, given: dict[str, float]) -> None:
    report = watch(product, variant, parameters_of(variant, given), None, say)
    say(report.model_dump_json())
    killed = report.measured.killed_s is not None
    assert killed == (variant in (Variant.FAULT, Variant.LEAK)), "the lab made the fault, or did not"
    cause = expected_cause(variant, killed)
    slow_upstream = TRUE_TOO if variant not in (Variant.LEAK, Variant.HEALTHY) else set()
    found = [one.cause for one in report.incidents if one.cause not in slow_upstream]
    assert cause == "none" or report.incidents[0].cause == cause, "what was there before the burst comes last"
    assert found == ([] if cause == "none" else [cause])
    _accounts_agree(report)
    if cause == "memory/query_burst_oom":
        assert report.incident_before_kill_s is not None
        assert report.incident_before_kill_s > 0
        assert report.predictions
        first = report.predictions[0]
        assert first.left_error_ratio is not None
        assert abs(first.left_error_ratio) <= 0.3, report.predictions


def _accounts_agree(report: OomReport) -> None:
    """Within 10 %, or what a sample each 100 ms instead of 10 ms makes of memory on its way up."""
    measured, observed = report.measured, report.observed
    assert measured.oom_kills == observed.oom_kills
    assert observed.memory_peak_mib == pytest.approx(measured.memory_peak_mib, rel=0.1)
    # Near the limit the server stands still now and then; the ends of the two accounts' ticks lie up to one apart.
    arrivals_per_tick = report.parameters["qps"] * 0.1
    assert observed.waiting_peak == pytest.approx(measured.waiting_peak, rel=0.15, abs=max(100, arrivals_per_tick))
    assert observed.fds_peak == pytest.approx(measured.fds_peak, rel=0.15, abs=100)
    assert observed.refused_share == pytest.approx(measured.refused_share, abs=0.03)
    if measured.killed_s is not None:
        assert observed.killed_s == pytest.approx(measured.killed_s, abs=0.25)
