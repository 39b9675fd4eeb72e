"""Nodes that hold millions of negative dentries, with no limit set."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.kernel.node import Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "kernel/negative_dentry_limit_missing"
_RHEL_7, _RHEL_8 = "3.10.0-1160.el7.x86_64", "4.18.0-553.70.1.el8_10.x86_64"


def _risk(name: str, node: Node) -> Scenario:
    return Scenario(f"negative_dentry_limit_missing/{name}", ID, partial(simulate, node), hurts=False)


SCENARIOS = (
    _risk("no knob", Node(negative=8e6, seed=41)),
    _risk("RHEL 7.8, off", Node(negative=8e6, kernel=_RHEL_7, limit='{"fs.negative-dentry-limit": "0"}', seed=42)),
    _risk("RHEL 8.10, off", Node(negative=8e6, kernel=_RHEL_8, limit='{"fs.dentry-fs-klimit": "0"}', seed=43)),
    _risk("an older RHEL 8", Node(negative=30e6, kernel="4.18.0-477.10.1.el8_8.x86_64", seed=44)),
    Scenario("negative_dentry_limit_missing/near miss: they grow", "kernel/negative_dentry_growth",
             partial(simulate, Node(negative=8e6, storms=(Storm(20, 120, 20_000),), seed=45))),
)  # fmt: skip
