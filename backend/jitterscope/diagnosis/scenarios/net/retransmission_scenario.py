"""Answers lost on the way; and servers that are slow, far away, or crowded, without any loss."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from jitterscope.diagnosis.scenarios.net.runs import BURSTS, FAR, LOSSY, OVERFLOW
from jitterscope.diagnosis.scenarios.net.simulate import Server, simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "net/retransmission"


def _made(name: str, expected: str | None, load: Server) -> Scenario:
    return Scenario(f"retransmission/{name}", expected, partial(simulate, load))


# Phones: a new connection each, none of which comes back.
_PHONES = replace(LOSSY, each=True, clients=1_000_000, trip_us=60_000.0)

SCENARIOS = (
    _made("1 % of answers", ID, LOSSY),
    _made("0.3 % at 500/s", ID, replace(LOSSY, loss=0.003, rate=500.0, seed=2)),
    _made("10 %, some lost again", ID, replace(LOSSY, loss=0.1, rate=60.0, seed=3)),
    _made("a connection for each request", ID, replace(LOSSY, each=True, loss=0.02, synack_loss=0.02, seed=4)),
    _made("a server that takes 30 ms", ID, replace(LOSSY, work_us=30_000.0, loss=0.02, seed=5)),
    _made("10 % on the way to phones", ID, replace(_PHONES, loss=0.1, seed=6)),
    _made("20 % of long answers on the way to phones", ID, replace(_PHONES, loss=0.2, noticed=0.9, seed=7)),
    _made("ordinary: 1 % on the way to phones", None, replace(_PHONES, seed=13)),
    _made("ordinary: 5 % of long answers to phones", None, replace(_PHONES, loss=0.05, noticed=0.9, seed=14)),
    _made("harmless: 5 % of long answers to near clients", None, replace(LOSSY, loss=0.05, noticed=1.0, seed=15)),
    _made("healthy: nothing is lost", None, replace(LOSSY, loss=0.0, seed=10)),
    _made("healthy: one answer in 6,000", None, replace(LOSSY, loss=0.00015, seed=11)),
    _made("look-alike: its own code takes 200 ms", None, replace(LOSSY, loss=0.0, slow_ratio=0.02, seed=12)),
    _made("near miss: the accept queue is full", "net/accept_queue", replace(OVERFLOW, seed=20)),
    _made("near miss: clients are far and connect anew", "net/connect_churn", replace(FAR, bursts=BURSTS[:2], seed=21)),
)
