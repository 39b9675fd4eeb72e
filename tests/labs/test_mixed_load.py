"""The mixed-load lab, short: twelve real servers without a fault, the whole product watching."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from labs.hosting import own_product
from labs.mixed.parameters import Parameters
from labs.mixed.watched import watch
from tests.support.lab_plan import live
from tests.support.said import say

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups and watches packets: needs root")
UNASKED = {"postgresql", "valkey", "mariadb"}
# Whatever is found cannot be made again: it is printed, and its recording stays here.
KEPT = Path(__file__).parents[2] / ".run" / "mixed-load"


@live(90)
@pytest.mark.timeout(600)
def test_nothing_is_said_of_servers_without_a_fault() -> None:
    with own_product(say) as product:
        watched = watch(product, Parameters(minutes=0.7, seed=7, rate=0.5), say)
        report = watched.report
        say(report.model_dump_json())
        say(json.dumps(list(watched.found.values())))
        watched.keep(product, KEPT, say)
    # The lab makes no fault, but a hypervisor can: then the lab itself has seen it, too.
    true = {"cpu/steal"} if report.machine.stolen_max_ratio > 0.05 else set()
    froze = bool(report.machine.frozen_s)
    true |= {"kernel/node_freeze"} if froze else set()
    wrong = [one for one in (*report.incidents, *report.risks) if one.cause not in true]
    # Each of its servers can say so, too, until the node does.
    assert [one for one in wrong if not (froze and one.title.endswith(": the whole node froze"))] == []
    assert {one.name for one in report.servers if one.requests is None} == UNASKED
    for one in report.servers:
        assert one.requests is None or one.requests > 500
