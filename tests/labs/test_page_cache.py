"""The page-cache lab, short: a service whose files do not fit into its memory limit, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.pagecache.variants import Variant, expected_cause, parameters_of
from labs.pagecache.watched import watch
from labs.product import Product
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and file systems: needs root")
SECONDS = 24.0
DRAWN = {
    "qps": (0.9, 1.3), "memory_mib": (0.95, 1.1), "files": (0.95, 1.2), "read_mib_s": (0.85, 1.15),
    "hashed_kib": (0.9, 1.25),
}  # fmt: skip
QUICK = {Variant.MORE_MEMORY, Variant.HEALTHY, Variant.FAST_DISK}
AGAIN = {Variant.FAULT, Variant.FAST_DISK}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(60, expected_cause(variant)), id=variant)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    report = watch(shared_product, variant, drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    measured = report.measured
    assert measured.slow_share is not None
    assert measured.refaults is not None
    assert (measured.slow_share < 0.02) == (variant in QUICK)
    assert (measured.refaults > 1_000) == (variant in AGAIN)
    if variant is not Variant.CPU_LIMIT:  # a queue that grows: its edges decide what is in the window
        # memory.stat is read once a second: a second of it can be in only one of the two figures.
        known = {"refaults": (0.15, 500.0), "blocked_s": (0.2, 2.0), "p50_ms": (0.15, 1.0)}
        assert differing(report, known) == {}, "measured, observed"
