"""Storms of failing lookups by anything but NSS, fast and slow, traced or not; and look-alikes."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.kernel.node import GIB, Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "kernel/negative_dentry_growth"
NSS_ROWS = (("curl", 4242, "/etc/pki/nssdb/.#_dOeSnotExist_.db", 1.0),)
_REMOVED = Storm(20, 120, 25_000, rows=(("sort", 9, "/scratch/x#", 1.0),), fails=0.02)
TWO = (("php-fpm", 101, "/srv/www/cache/%.html", 0.7), ("find", 102, "/srv/www/#/index.php", 0.2))


def _fault(name: str, node: Node, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"negative_dentry_growth/{name}", ID, partial(simulate, node), hurts, note)


SCENARIOS = (
    _fault("a storm that goes on", Node(storms=(Storm(20, 120, 40_000),), seed=1), note="a drop takes over 1 s"),
    _fault("memory runs out in minutes",
           Node(storms=(Storm(40, 120, 30_000, TWO),), low_margin_bytes=0.4 * GIB, memory_bytes=4 * GIB, seed=2)),
    _fault("ten minutes in", Node(storms=(Storm(0, 120, 20_000),), negative=12e6, positive=3e5, seed=3)),
    _fault("slow", Node(storms=(Storm(10, 120, 900),), seed=4), hurts=False, note="half a percent of a CPU"),
    _fault("short", Node(storms=(Storm(60, 70, 45_000),), seed=5), hurts=False, note="450,000 names, then quiet"),
    _fault("not traced", Node(storms=(Storm(30, 120, 30_000),), traced=False, seed=6), note="who is not known"),
    _fault("missing ticks", Node(storms=(Storm(30, 120, 40_000),), missing_ratio=0.1, seed=7)),
    _fault("temporary files", Node(storms=(_REMOVED,), limit='{"fs.dentry-negative": "0"}', seed=8),
           note="names of files that were made and removed: hardly a lookup fails"),
    Scenario("negative_dentry_growth/near miss: an old NSS", "kernel/nss_stat_storm",
             partial(simulate, Node(storms=(Storm(20, 120, 40_000, NSS_ROWS),), seed=9))),
)  # fmt: skip
