"""The bpf-startup lab, short: pods that wait for the real verifier, the whole product watching."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from jitterscope.labs.hosting import own_product
from jitterscope.labs.podstart.variants import Variant, parameters_of
from jitterscope.labs.podstart.watched import Kubelet, kubelet, watch
from jitterscope.labs.product import Product

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and loads eBPF programs: needs root")
STARTUP = "startup/"


def say(text: str) -> None:
    print(text)  # noqa: T201


@pytest.fixture  # a new one for each: they are all about the same node
def watched() -> Iterator[tuple[Product, Kubelet]]:
    with kubelet() as served, own_product(say, served.collector_config) as product:
        yield product, served


CASES: list[tuple[Variant, dict[str, Any], str]] = [
    (Variant.SLOW_IMAGE, {"pods": 3}, "none"),
    (Variant.PRUNED, {"pods": 4}, "none"),
    (Variant.FAULT, {"pods": 4}, "startup/bpf_verification"),
    (Variant.SLOW_START, {"pods": 4}, "startup/pod_slo"),
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("variant", "given", "cause"), CASES, ids=[str(variant) for variant, _, _ in CASES])
def test_variant(watched: tuple[Product, Kubelet], variant: Variant, given: dict[str, Any], cause: str) -> None:
    product, served = watched
    report = watch(product, served, variant, parameters_of(variant, given), None, say)
    say(report.model_dump_json())
    measured, observed = report.measured, report.observed
    assert (measured.late == measured.starts) == (cause != "none"), "the lab made the fault, or did not"
    found = [one.cause for one in report.incidents if one.cause.startswith(STARTUP)]
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
