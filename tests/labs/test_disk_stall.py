"""The disk-stall lab, short: a service that syncs to a limited disk, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.disk.bench import DiskFigures
from labs.disk.variants import Variant, expected_cause, parameters_of
from labs.disk.watched import watch
from labs.product import Product
from labs.report import Report
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and file systems: needs root")
SECONDS = 24.0
DRAWN = {
    "qps": (0.98, 1.15), "write_kib_s": (0.94, 1.03), "checkpoint_kib": (0.98, 1.4), "checkpoint_every_ms": (0.87, 1.2),
    "slow_every": (0.6, 1.6), "slow_ms": (0.7, 2.5), "hashed_kib": (0.9, 1.25),
}  # fmt: skip
STALLED = {Variant.FAULT, Variant.STEADY}
# The lab samples states every 10 ms: waits of a millisecond fall between two samples or count ten times.
BLOCKED = {"blocked_s": (0.2, 2.0)}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(55, expected_cause(variant)), id=variant)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    report = watch(shared_product, variant, drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    _symptom(report, variant)
    if variant not in (Variant.CPU_LIMIT, Variant.STEADY):  # a queue that grows: its edges decide what is in the window
        assert differing(report, {"p50_ms": (0.15, 0.3), **BLOCKED}) == {}, "measured, observed"


def _symptom(report: Report[DiskFigures], variant: Variant) -> None:
    """The lab made the fault, or did not: otherwise the verdict above means nothing."""
    measured = report.measured
    assert measured.slow_share is not None
    assert measured.blocked_s is not None
    if variant in STALLED:
        assert measured.slow_share > 0.2
        assert measured.blocked_s > 0.1 * SECONDS
    elif variant in (Variant.MORE_IO, Variant.HEALTHY):
        assert measured.slow_share < 0.06  # the disk of this machine also serves others
    elif variant in (Variant.BACKGROUND, Variant.OWN_CODE):
        assert measured.blocked_s > 0.1 * SECONDS  # some threads wait for the disk all the same
        assert (measured.slow_share > 0.01) == (variant is Variant.OWN_CODE)
