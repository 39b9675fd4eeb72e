"""The accept-queue lab, short: a real service, real sockets and namespaces, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.crowd.variants import Variant, expected_cause, parameters_of
from labs.crowd.watched import watch
from labs.product import Product
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces: needs root")
SECONDS = 20.0
DRAWN = {
    "qps": (0.8, 1.4), "backlog": (0.5, 1.5), "burst": (0.75, 1.5), "every_ms": (0.75, 1.25), "accept_us": (0.95, 1.5),
    "delay_ms": (0.8, 1.3),
}  # fmt: skip
FULL = {Variant.FAULT, Variant.SLOW_ACCEPT}
FAR = {Variant.CONNECT_CHURN, Variant.FAR}
# Drops are read once a second, and a burst at an edge of the window can be in only one of the two figures.
COUNTS = {"opened": (0.02, 100.0), "dropped": (0.1, 120.0), "resent": (0.1, 2.0)}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(50, expected_cause(variant)), id=variant)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    report = watch(shared_product, variant, drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    measured, observed = report.measured, report.observed
    assert measured.waited_share is not None
    assert observed.waited_share is not None
    assert measured.dropped is not None
    assert (measured.dropped > 0) == (variant in FULL)
    if variant in FULL:
        assert measured.waited_share > 0.02
        # A lower bound, and not a trivial one.
        assert 0.1 * measured.waited_share < observed.waited_share < 1.1 * measured.waited_share
    # What clients wait before a server sees them is not part of its latency.
    unlike: dict[str, tuple[float, float]] = (
        {"p50_ms": (9, 99), "p99_ms": (9, 9_999), "slow_share": (9, 1)}
        if variant in FULL | FAR
        else {"p50_ms": (0.2, 0.8), "p99_ms": (0.3, 8)}
    )
    waits = {"waited_share": (9.0, 1.0)}  # compared above
    assert differing(report, {**COUNTS, **waits, **unlike}) == {}, "measured, observed"
