"""Nodes on which nothing may be found: real files, brief lookups, reclaim of pages, removed files, a limit."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario


def _quiet(name: str, node: Node, note: str = "") -> Scenario:
    return Scenario(f"healthy node/{name}", None, partial(simulate, node), note=note)


SCENARIOS = (
    _quiet("idle", Node(seed=51)),
    _quiet("many real files", Node(files_per_s=15_000, seed=52), "a walk over a million files: positive dentries"),
    _quiet("many real files are removed", Node(positive=1.5e6, losses=(Loss(40, "unlink", 0.0, 0.5),), seed=53),
           "the kernel is busy, and dentries fall"),
    _quiet("files are removed while containers go", Node(positive=1.5e6, losses=(Loss(40, "unlink", 0.0, 0.5),),
           unmounts_s=(40.2, 41.0, 42.5), seed=59), "unmounts, but of nothing"),
    _quiet("a build looks around", Node(storms=(Storm(30, 33, 12_000),), seed=54), "36,000 names, once"),
    _quiet("an old storm, dropped since", Node(storms=(Storm(10, 12, 40_000),),
           losses=(Loss(20, "drop"),), seed=55), "80,000 names, gone in 0.05 s"),
    _quiet("a limit is set", Node(negative=8e6, kernel="3.10.0-1160.el7.x86_64",
           limit='{"fs.negative-dentry-limit": "15"}', seed=57)),
    _quiet("threads exit on a new kernel", Node(negative=8e5, exits=((50, 3000),), exit_stall_s=1.0, seed=58)),
)  # fmt: skip
