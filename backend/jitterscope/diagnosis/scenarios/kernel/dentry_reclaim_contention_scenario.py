"""Millions of dentries freed in each of the possible ways; and look-alikes."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "kernel/dentry_reclaim_contention"


def _fault(name: str, node: Node, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"dentry_reclaim_contention/{name}", ID, partial(simulate, node), hurts, note)


SCENARIOS = (
    _fault("a pod is deleted", Node(negative=4e6, losses=(Loss(60, "unmount"),), serves_dns=True, seed=21)),
    _fault("unmounts are not seen", Node(negative=3e6, losses=(Loss(60, "unmount"),), counts_unmounts=False, seed=22),
           note="no eBPF here: by what is left"),
    _fault("dropped by hand", Node(negative=2e6, positive=2e5, losses=(Loss(60, "drop", positive=0.9),), seed=23)),
    _fault("direct reclaim", Node(negative=20e6, serves_dns=True, seed=24,
           losses=(Loss(40, "direct", 0.2, slowdown=2.0), Loss(70, "direct", 0.2)))),
    _fault("a small drop", Node(negative=3e5, losses=(Loss(60, "drop"),), seed=32), hurts=False, note="0.2 s"),
    _fault("kswapd", Node(negative=10e6, losses=(Loss(40, "kswapd", 0.3),), seed=25)),
    _fault("reclaim while threads exit", Node(negative=8e6, losses=(Loss(40, "direct", 0.3, slowdown=3.0),),
           exits=((40.5, 2400),), exit_stall_s=0.5, seed=26)),
    _fault("mass exit on an old kernel", Node(negative=9e6, kernel="3.10.107", exits=((50, 2400),), exit_stall_s=1.5,
           seed=27), note="one lock for all lists"),
    _fault("many CPUs", Node(negative=30e6, cpus=64, free_us=0.25, losses=(Loss(60, "unmount"),), seed=28)),
    _fault("without PSI", Node(negative=4e6, psi=False, losses=(Loss(60, "unmount"),), seed=29)),
    _fault("missing ticks", Node(negative=6e6, missing_ratio=0.15, losses=(Loss(60, "unmount"),), seed=30)),
    Scenario("dentry_reclaim_contention/near miss: pages are reclaimed", "memory/reclaim_stall",
             partial(simulate, Node(negative=9e5, page_reclaim=((40, 5, 90_000, 30_000),), seed=33)),
             note="tasks wait, the kernel is busy, but the names stay"),
    Scenario("dentry_reclaim_contention/near miss: a storm keeps the kernel busy", "kernel/negative_dentry_growth",
             partial(simulate, Node(storms=(Storm(20, 120, 60_000),), make_us=12.0, seed=31)),
             note="as much kernel time, to make them"),
)  # fmt: skip
