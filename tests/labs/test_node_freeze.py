"""Real-time programs take all CPUs of this machine for moments; a real Go service, the whole product watching."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time

import pytest

from labs.product import Product
from labs.service.variants import Variant, parameters_of
from labs.service.watched import watch
from labs.watching import now_us
from tests.support.lab_plan import live
from tests.support.said import say
from tests.support.told import causes

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="takes all CPUs and watches packets: needs root")
CAUSE = "kernel/node_freeze"
EVERY_S, SECONDS = 4.0, 0.25
# All CPUs at the same time: on each one a program that waits for it with real-time priority.
OCCUPY = """
import os, sys, time
at, seconds = map(float, sys.argv[2:])
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
time.sleep(max(0.0, at - time.monotonic()))
while time.monotonic() < at + seconds:
    pass
"""


def freeze() -> None:
    at = time.monotonic() + 1.0
    programs = [
        subprocess.Popen([sys.executable, "-c", OCCUPY, str(cpu), str(at), str(SECONDS)])
        for cpu in os.sched_getaffinity(0)
    ]
    assert [one.wait() for one in programs] == [0] * len(programs)


@live(60, CAUSE)
@pytest.mark.timeout(600)
def test_a_frozen_node_is_one_incident(shared_product: Product) -> None:
    since_us, over = now_us(), threading.Event()

    def freeze_often() -> None:
        while not over.wait(EVERY_S - 1.0 - SECONDS):
            freeze()

    freezing = threading.Thread(target=freeze_often)
    # The clients freeze, too: late is what is being worked on then, so each answer takes a while.
    parameters = parameters_of(Variant.HEALTHY, {"seconds": 20.0, "qps": 400.0, "slow_every": 1, "slow_ms": 30})
    freezing.start()
    try:
        report = watch(shared_product, Variant.HEALTHY, parameters, None, say)
    finally:
        over.set()
        freezing.join()
    say(report.model_dump_json())
    node_id = shared_product.node_id()
    assert node_id is not None
    [found] = [one for one in shared_product.incidents(node_id, since_us) if one["cause"] == CAUSE]
    say(found["title"])
    told = re.search(r"for at least ([0-9,]+) ms: [0-9,]+ ", found["title"])
    assert told is not None
    # Up to a tick of each is not seen.
    assert int(told[1].replace(",", "")) >= 1000 * SECONDS - 100
    assert causes(report.incidents) == []
