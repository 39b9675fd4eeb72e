"""The bpf-startup lab, short: pods that wait for the real verifier, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.hosting import own_product
from labs.podstart.variants import Variant, parameters_of
from labs.podstart.watched import kubelet, watch
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and loads eBPF programs: needs root")
PODS = "pods/"


def case(variant: Variant, lasts_s: float, pods: int, cause: str = "none") -> Any:
    return pytest.param(variant, {"pods": pods}, cause, marks=live(lasts_s, cause), id=variant)


CASES = [
    case(Variant.SLOW_IMAGE, 60, pods=3),
    case(Variant.PRUNED, 55, pods=4),
    case(Variant.FAULT, 65, pods=4, cause="pods/bpf_verification"),
    case(Variant.SLOW_START, 60, pods=4, cause="pods/pod_slo"),
]


@pytest.mark.timeout(500)
@pytest.mark.parametrize(("variant", "given", "cause"), CASES)
def test_variant(variant: Variant, given: dict[str, Any], cause: str) -> None:
    # It watched nothing before: the labs are about the whole node.
    with kubelet() as served, own_product(say, served.collector_config) as product:
        report = watch(product, served, variant, parameters_of(variant, given), None, say)
    say(report.model_dump_json())
    measured, observed = report.measured, report.observed
    assert (measured.late == measured.starts) == (cause != "none"), "the lab made the fault, or did not"
    found = [one.cause for one in report.incidents if one.cause.startswith(PODS)]
    assert found[:1] == ([] if cause == "none" else [cause])
    assert observed.starts == measured.starts
    assert observed.late == measured.late
    for name in ("start_p50_ms", "start_max_ms", "total_p50_ms", "image_ms", "sandbox_ms"):
        assert getattr(observed, name) == pytest.approx(getattr(measured, name), rel=0.05), name
    assert observed.loads == measured.loads
    assert observed.verified == pytest.approx(measured.verified, rel=0.01)
    if variant in (Variant.FAULT, Variant.PRUNED):
        assert report.load_error_ratio is not None
        assert report.load_error_ratio <= 0.02
