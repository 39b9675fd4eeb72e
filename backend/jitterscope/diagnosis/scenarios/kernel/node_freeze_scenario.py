"""Nodes that stand still for moments, and look-alikes: one CPU does, or nobody is late."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "kernel/node_freeze"
FREEZES = ((30.02, 0.25), (51.27, 0.13), (71.51, 0.42))


def _node(name: str, expected: str | None, node: Node, note: str = "") -> Scenario:
    return Scenario(f"node_freeze/{name}", expected, partial(simulate, node), note=note)


SCENARIOS = (
    _node("paused by its host", ID, Node(serves_dns=True, freezes=FREEZES, seed=61)),
    _node("what the host takes counts as stolen", ID, Node(serves_dns=True, freezes=FREEZES, stolen=0.9, seed=62)),
    _node("a limit of the host", ID, Node(
        serves_dns=True, freezes=tuple((20.0 + 1.7 * n, 0.08) for n in range(40)), seed=63), "every 1.7 s"),
    _node("no answers are timed", ID, Node(freezes=FREEZES, seed=64)),
    _node("look-alike: one CPU stands still", None, Node(serves_dns=True, freezes=FREEZES, whole=False, seed=65),
          "the others answer meanwhile"),
    _node("look-alike: hardly anybody asks", None, Node(serves_dns=True, qps=1, freezes=FREEZES[1:2], seed=66)),
    _node("look-alike: too short to make anybody late", None, Node(
        serves_dns=True, freezes=tuple((20.093 + 2 * n, 0.018) for n in range(40)), seed=67)),
    _node("near miss: freeing names keeps a CPU busy", "kernel/dentry_reclaim_contention", Node(
        negative=8e6, losses=(Loss(60, "drop"),), serves_dns=True, freezes=((60.4, 0.3),), whole=False, seed=68),
        "the collector's thread waits for that CPU"),
    _node("near miss: pages are reclaimed", "memory/reclaim_stall", Node(
        negative=9e5, page_reclaim=((40, 5, 90_000, 30_000),), serves_dns=True, freezes=((42.4, 0.2),), whole=False,
        seed=69)),
)  # fmt: skip
