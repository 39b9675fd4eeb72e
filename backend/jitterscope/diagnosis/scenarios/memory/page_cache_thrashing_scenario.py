"""Files that do not fit into a memory limit; and limits, disks, and reclaim that only look like it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.dns import single_socket_serialization_scenario as one_socket
from jitterscope.diagnosis.scenarios.io import disk_stall_scenario
from jitterscope.diagnosis.scenarios.io.disks import DiskUse, blocked_too, every, on_disk
from jitterscope.diagnosis.scenarios.memory import limit_oom_scenario, reclaim_stall_scenario
from jitterscope.diagnosis.scenarios.scenario import Scenario

ID = "memory/page_cache_thrashing"
BASE = Workload(qps=200, live_mb=3, quota_us=None, gomaxprocs=1, serves="http", is_go=False)
FILES = DiskUse(every(1.4, 0.12, 0.3, 0.08, times=40), refaults=900.0, used=0.995, in_io=1.0)


def _run(load: Workload, use: DiskUse) -> Snapshot:
    made = simulate(replace(load, hiccups=use.spans)).snapshot
    if load.serves == "dns":
        made = one_socket.split(made, wait_all=True)
    seen = on_disk(made, use)
    own = dict(seen.subject.series)
    if use.known:
        own["disk_read_bytes"], own["disk_written_bytes"] = own["disk_written_bytes"], own["disk_read_bytes"]
    hits = np.where(np.nan_to_num(own["memory_refaults"]) > 0, 40.0, 0.0)
    return replace(seen, subject=replace(seen.subject, series={**own, "memory_limit_hits": hits}))


def _fault(name: str, load: Workload, use: DiskUse, hurts: bool = True) -> Scenario:
    return Scenario(f"page_cache_thrashing/{name}", ID, partial(_run, load, use), hurts)


def _pressure() -> Snapshot:
    """Tasks wait for memory meanwhile, as PSI counts it: waiting for a dropped page is part of that."""
    made = _run(replace(BASE, seed=6), FILES)
    waits = 0.6 * made.processes[0].series["process_blocked_us"]
    own = {**made.subject.series, "psi_memory_some_us": np.minimum(waits, 1e5)}
    return replace(made, subject=replace(made.subject, series=own))


def _above() -> Snapshot:
    """The limit is that of the parent cgroup."""
    made = _run(replace(BASE, seed=7), replace(FILES, limit_mib=900.0, used=0.2))
    above = replace(_run(replace(BASE, seed=7), FILES).subject, id=70, key="/lab", name="/lab")
    return replace(made, ancestors=(above,))


def _leak() -> Snapshot:
    made = next(one for one in limit_oom_scenario.SCENARIOS if one.expected and one.hurts).build()
    return blocked_too(made, np.full(made.ticks, 3_000.0), 12.0)


def _reclaims() -> Snapshot:
    """Much is dropped and scanned, and hardly any of it is read again."""
    made = reclaim_stall_scenario.SCENARIOS[1].build()
    return blocked_too(made, 0.5 * np.nan_to_num(made.subject.series["psi_memory_some_us"]), 8.0)


def _disk() -> Snapshot:
    """A slow disk under a server at its memory limit, like one that reads many files once."""
    use = replace(disk_stall_scenario.SLOW, refaults=10.0, used=0.99)
    return on_disk(simulate(replace(BASE, hiccups=use.spans, seed=33)).snapshot, use)


SCENARIOS = (
    _fault("files do not fit", BASE, FILES),
    _fault("little is missing", replace(BASE, seed=2), replace(FILES, refaults=400.0)),
    _fault("which disk is not known", replace(BASE, seed=3), replace(FILES, known=False)),
    _fault("DNS", replace(BASE, serves="dns", seed=4), FILES),
    _fault("in Kubernetes", replace(BASE, facts=disk_stall_scenario.KUBERNETES, seed=5), FILES),
    Scenario("page_cache_thrashing/tasks wait for memory", ID, _pressure),
    Scenario("page_cache_thrashing/a limit above it", ID, _above),
    _fault("serves nothing", replace(BASE, serves=None, seed=8), replace(
        FILES, spans=every(1.0, 0.5, times=58)), hurts=False),
    Scenario("page_cache_thrashing/look-alike: it reads again, and nobody waits", None, partial(
        _run, replace(BASE, seed=20), replace(FILES, spans=every(1.4, 0.004, times=40), refaults=9_000.0))),
    Scenario(
        "page_cache_thrashing/look-alike: the node drops its pages", "unexplained/slow_answers", partial(
            _run, replace(BASE, seed=21), replace(FILES, used=0.4)),
    ),
    Scenario("page_cache_thrashing/near miss: a slow disk", "io/disk_stall", _disk),
    Scenario("page_cache_thrashing/near miss: it reclaims", "memory/reclaim_stall", _reclaims),
    Scenario("page_cache_thrashing/near miss: a leak up to the limit", "memory/limit_oom", _leak),
)  # fmt: skip
