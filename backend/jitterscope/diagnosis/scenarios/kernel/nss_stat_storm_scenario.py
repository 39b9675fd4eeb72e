"""NSS probing file systems, old and new, among other lookups; and other programs that do something similar."""

from __future__ import annotations

from functools import partial

from jitterscope.diagnosis.scenarios.kernel.negative_dentry_growth_scenario import NSS_ROWS
from jitterscope.diagnosis.scenarios.kernel.node import Node, Storm
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "kernel/nss_stat_storm"
_MIXED = (
    ("curl", 4242, "/etc/pki/nssdb/.#_dOeSnotExist_.db", 0.6),
    ("python3", 77, "/usr/lib/python3/site-packages/#.so", 0.4),
)
_NEW = (("certutil", 4242, "/home/app/.pki/nssdb/.#/.#_dOeSnotExist_.db", 1.0),)
_MASKED = (("curl", 4242, "/home/app/.pki/nssdb/.#_%O%SnotExist_.%b", 1.0),)
_GONE = Storm(10, 120, 200_000, _NEW, stay=0.0, every_s=5.0, bursts_s=0.1)


def _fault(name: str, node: Node, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"nss_stat_storm/{name}", ID, partial(simulate, node), hurts, note)


SCENARIOS = (
    _fault("old library", Node(storms=(Storm(20, 120, 40_000, NSS_ROWS),), seed=11,
           nss={"version": "3.36", "file_system": "overlay"})),
    _fault("a health check every second",
           Node(storms=(Storm(5, 120, 30_000, NSS_ROWS, every_s=1.0, bursts_s=0.3),), seed=12), note="9,000 each"),
    _fault("names are gone again", Node(storms=(_GONE,), seed=13,
           nss={"version": "3.87.1", "env": "auto", "file_system": "ext4"}), note="NSS 3.52 and newer"),
    _fault("among others", Node(storms=(Storm(20, 120, 35_000, _MIXED),), seed=14)),
    _fault("letters masked as hexadecimal", Node(storms=(Storm(20, 120, 35_000, _MASKED),), seed=15)),
    _fault("two starts", Node(storms=(Storm(60, 72, 1_500, NSS_ROWS),), seed=16), hurts=False),
    Scenario("nss_stat_storm/near miss: another program", "kernel/negative_dentry_growth",
             partial(simulate, Node(storms=(Storm(20, 120, 40_000),), seed=17)),
             note="NSS is loaded, but the names are not its own"),
)  # fmt: skip
