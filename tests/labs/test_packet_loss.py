"""The packet-loss lab, short: a real service behind a link that loses packets, the whole product watching."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.loss.variants import Variant, expected_cause, parameters_of
from labs.loss.watched import watch
from labs.product import Product
from tests.labs.drawing import drawn
from tests.support.accounts import differing
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces: needs root")
SECONDS = 20.0
# Answers of one packet: of several, a lost one is mostly sent again within milliseconds, and too few wait for a fault.
DRAWN = {
    "qps": (0.6, 1.6), "answer_bytes": (0.3, 1.4), "loss_percent": (0.75, 2.0),
    "slow_every": (0.6, 1.6), "slow_ms": (0.5, 1.75),
}  # fmt: skip
LOSSY = {Variant.FAULT, Variant.NEW_CONNECTIONS}
COUNTS = {"opened": (0.02, 5.0), "dropped": (0.1, 2.0), "resent": (0.1, 3.0)}


def case(variant: Variant) -> Any:
    return pytest.param(variant, marks=live(50, expected_cause(variant)), id=variant)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [case(one) for one in Variant])
def test_variant(shared_product: Product, variant: Variant) -> None:
    report = watch(shared_product, variant, drawn(parameters_of, variant, DRAWN, {"seconds": SECONDS}), None, say)
    say(report.model_dump_json())
    cause = expected_cause(variant)
    assert causes(report.incidents)[:1] == ([] if cause == "none" else [cause])
    measured = report.measured
    assert measured.waited_share is not None
    assert (measured.waited_share > 0.005) == (variant in LOSSY)
    # Few wait, and some of them at an edge of the window.
    loose: dict[str, tuple[float, float]] = {
        "waited_share": (0.15, 0.003), "slow_share": (0.15, 0.003), "p50_ms": (0.2, 0.3), "p99_ms": (0.15, 3.0),
    }  # fmt: skip
    if variant is Variant.NEW_CONNECTIONS:
        # On a new connection, the handshake and the answer can be late: by how much together is unknown.
        loose |= {
            "p99_ms": (9.0, 2_000.0),
            "slow_share": (0.4, 0.01),
            "waited_share": (0.4, 0.01),
            "p50_ms": (0.5, 0.5),
            # A SYN that is retransmitted because the SYN-ACK was lost is dropped by the socket, and is not a
            # ListenDrop.
            "dropped": (0.0, 10_000.0),
        }
    assert differing(report, {**COUNTS, **loose}) == {}, "measured, observed"
