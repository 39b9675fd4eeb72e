"""Clients that open a connection per request; and those to which it is harmless, or that wait for something else."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.scenarios.net.runs import FAR, LOSSY, OVERFLOW
from jitterscope.diagnosis.scenarios.net.simulate import Server, simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "net/connect_churn"


def _made(name: str, expected: str | None, load: Server) -> Scenario:
    return Scenario(f"connect_churn/{name}", expected, partial(simulate, load))


SCENARIOS = (
    _made("35 ms away", ID, FAR),
    _made("100 ms away, one client", ID, replace(FAR, trip_us=100_000.0, clients=1, rate=20.0, seed=2)),
    _made("25 ms away, answers take 10 ms", ID, replace(FAR, trip_us=25_000.0, work_us=10_000.0, seed=3)),
    _made("healthy: near", None, replace(FAR, trip_us=150.0, seed=10)),
    _made("healthy: far, connections are kept", None, replace(FAR, each=False, seed=11)),
    _made("healthy: far, each client comes once", None, replace(FAR, clients=1_000_000, seed=12)),
    _made("healthy: near, and answers take 15 ms", None, replace(FAR, trip_us=5_000.0, work_us=15_000.0, seed=13)),
    _made("near miss: the accept queue is full", "net/accept_queue", replace(OVERFLOW, trip_us=30_000.0, seed=20)),
    _made("near miss: segments are lost", "net/retransmission",
          replace(LOSSY, each=True, loss=0.02, synack_loss=0.03, trip_us=2_000.0, seed=21)),
)  # fmt: skip
