"""The service-gc lab, short: a Go service, a JVM, Node and Ruby under real limits, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.figures import Figures
from labs.product import Product
from labs.report import Report
from labs.service.traces import jvm_pause, node_collection, ruby_collection
from labs.service.variants import Variant, expected_cause, parameters_of
from labs.service.watched import watch
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

SECONDS = 30.0
DRAWN = {
    "qps": (0.75, 1.3), "objects": (1.0, 1.25), "replaced": (0.9, 1.4), "quota_us": (0.85, 1.15),
    "answer_bytes": (0.7, 1.5),
    "hashed_kib": (0.6, 1.2), "heap_mib": (1.0, 1.12), "cpus": (0.5, 1.5), "gomaxprocs": (0.5, 2.0), "grpc": (0.5, 2.0),
    "slow_every": (0.6, 1.6), "slow_ms": (0.7, 2.5),
}  # fmt: skip
THROTTLED = {
    Variant.GO, Variant.GRPC, Variant.JVM_PARALLEL, Variant.JVM_G1, Variant.NODE, Variant.RUBY, Variant.OVERLOAD,
}  # fmt: skip
QUICK = {Variant.HEALTHY, Variant.NO_LIMIT}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(60, expected_cause(variant)), id=variant)


@pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches requests: needs root")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    report = watch(shared_product, variant, drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    _symptom(report, variant)
    if variant is not Variant.OVERLOAD:  # the queue grows through the window: its edges decide what is answered in it
        assert differing(report, {"p50_ms": (0.1, 0.1)}) == {}, "measured, observed"


def _symptom(report: Report[Figures], variant: Variant) -> None:
    """The lab made the fault, or did not: otherwise the verdict above means nothing."""
    measured = report.measured
    assert measured.slow_share is not None
    assert measured.throttled_ratio is not None
    if variant is Variant.START_UP:
        return  # how much of a start the limit slows depends on the machine, and silence is always correct
    # How often a fault strikes in 30 s depends on the machine's speed.
    assert measured.slow_share < 0.005 if variant in QUICK else measured.slow_share > 0.001
    assert (measured.throttled_ratio > 0.005) == (variant in THROTTLED)


def test_pauses_of_a_jvm() -> None:
    full = jvm_pause("[4.278s][info][gc] GC(2) Pause Full (Ergonomics) 150M->119M(192M) 155.849ms\n", 1_000_000)
    assert full is not None
    assert (full.start_us, full.end_us, full.live_bytes) == (844_151, 1_000_000, 119 << 20)
    young = "[0.086s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 50M->49M(192M) 52.551ms\n"
    assert jvm_pause(young, 1_000_000) is not None
    for other in ("[0.01s][info][gc] Using G1\n", "[1.0s][info][gc] GC(4) Concurrent Mark Cycle 12.5ms\n"):
        assert jvm_pause(other, 1_000_000) is None


def test_collections_of_node() -> None:
    line = (
        "[2666:0x2553af90]     5074 ms: Mark-Compact 103.1 (137.0) -> 87.6 (126.3) MB, 122.25 / 0.00 ms  (+ 9.2 ms in "
        "151 steps since start of marking, biggest step 0.9 ms, walltime since start of marking 132 ms) (average mu = "
        "1.000, current mu = 1.000) finalize incremental marking via task; GC in old space requested\n"
    )
    cycle = node_collection(line, 1_000_000)
    assert cycle is not None
    assert (cycle.start_us, cycle.end_us, cycle.live_bytes) == (877_750, 1_000_000, 87 << 20)
    young = "[2666:0x2553af90]       55 ms: Scavenge 8.2 (8.3) -> 7.9 (9.3) MB, 3.29 / 0.00 ms  (average mu = 1.000)\n"
    assert node_collection(young, 1_000_000) is not None
    assert node_collection("listening\n", 1_000_000) is None


def test_collections_of_ruby() -> None:
    cycle = ruby_collection("GC 12.345 ms, 87 MB\n", 1_000_000)
    assert cycle is not None
    assert (cycle.start_us, cycle.end_us, cycle.live_bytes) == (987_655, 1_000_000, 87 << 20)
    assert ruby_collection("listening\n", 1_000_000) is None
