"""Bursts of connections that overflow the backlog; and servers that stall, or clients that wait elsewhere."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu import event_loop_blocked_scenario as event_loop
from jitterscope.diagnosis.scenarios.cpu.contention import LITTLE, contended, throttled_delays
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate as run
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.net.runs import BURSTS, FAR, LOSSY, OVERFLOW
from jitterscope.diagnosis.scenarios.net.simulate import Server, overflowing, simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import inside_ticks

ID = "net/accept_queue"


def _busy_loop() -> Snapshot:
    """A Node.js program that computes, and accepts nothing meanwhile."""
    made = event_loop.SCENARIOS[0].build()
    return overflowing(made, inside_ticks(event_loop.BLOCKS, made.ticks))


def _throttled() -> Snapshot:
    made = run(Workload(serves="http", is_go=False, qps=4000, live_mb=3, seconds=20, seed=30)).snapshot
    made = contended(made, throttled_delays(made), 0.1, takers=LITTLE)
    return overflowing(made, np.minimum(1.0, made.subject.series["cpu_throttled_periods"]))


def _many_threads() -> Snapshot:
    """On a busy node, where some of its threads wait for a CPU all the time."""
    made = simulate(replace(OVERFLOW, seed=6))
    waits = 130_000.0 + 20_000.0 * np.random.default_rng(6).random(made.ticks)
    processes = tuple(
        replace(one, series={**one.series, "process_run_delay_us": one.series["process_run_delay_us"] + waits})
        for one in made.processes
    )
    return replace(made, processes=processes)


def _made(name: str, expected: str | None, load: Server) -> Scenario:
    return Scenario(f"accept_queue/{name}", expected, partial(simulate, load))


SCENARIOS = (
    _made("bursts", ID, OVERFLOW),
    _made("bursts, backlog 128", ID, replace(OVERFLOW, backlog=128, bursts=tuple((t, 300) for t, _ in BURSTS), seed=2)),
    _made("accepts too slowly all the time", ID, replace(OVERFLOW, bursts=(), rate=120.0, accept_us=9_000.0, seed=3)),
    _made("a burst once", ID, replace(OVERFLOW, bursts=((31.0, 120),), program="gunicorn", seed=4)),
    _made("of other software", ID, replace(OVERFLOW, program="api", seed=5)),
    Scenario("accept_queue/its threads wait for a CPU all the time", ID, _many_threads),
    _made("healthy: room for the bursts", None, replace(OVERFLOW, backlog=512, accept_us=150.0, seed=10)),
    _made("healthy: connections are kept", None, replace(OVERFLOW, each=False, seed=11)),
    _made("healthy: two attempts are dropped", None, replace(OVERFLOW, bursts=((31.0, 18),), accept_us=800.0, seed=12)),
    Scenario("accept_queue/near miss: one thread is busy", "cpu/event_loop_blocked", _busy_loop),
    Scenario("accept_queue/near miss: the CPU limit holds the server back", "cpu/limit_too_low", _throttled),
    _made("near miss: clients are far and connect anew", "net/connect_churn", replace(FAR, seed=20)),
    _made("near miss: SYN-ACKs are lost", "net/retransmission",
          replace(LOSSY, each=True, loss=0.005, synack_loss=0.04, seed=21)),
)  # fmt: skip
