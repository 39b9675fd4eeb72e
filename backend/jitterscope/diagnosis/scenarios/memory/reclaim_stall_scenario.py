"""Reclaim that makes tasks wait, on a node and in a cgroup at its own limit; and waiting with another cause."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate as simulate_server
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.io.disks import DiskUse, every, on_disk
from jitterscope.diagnosis.scenarios.kernel.node import Loss, Node
from jitterscope.diagnosis.scenarios.kernel.simulate import simulate
from jitterscope.diagnosis.scenarios.memory.runs import run
from jitterscope.diagnosis.scenarios.memory.simulate import MIB, MemoryWorkload
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import view

ID = "memory/reclaim_stall"
MARKS = json.dumps({"min_free_kbytes": 67584, "watermark_scale_factor": 10, "zones": []})
# Answers take 0.2 s while tasks wait for memory, and are quick otherwise.
AT_LIMIT = MemoryWorkload(
    seconds=40, limit_mib=170, files=((2, 60, 14.0),), reclaim=((16, 15),), psi_us=35_000, wait_s=0.0,
    waits=((16, 15, 0.2),),
)  # fmt: skip
SERVER = Workload(qps=200, live_mb=3, quota_us=None, gomaxprocs=1, serves="http", is_go=False)
NODE = Node(page_reclaim=((40, 5, 90_000, 30_000),), facts={"node.watermarks": MARKS})


def _fault(name: str, load: MemoryWorkload, *, hurts: bool = True, note: str = "") -> Scenario:
    return Scenario(f"reclaim_stall/{name}", ID, partial(run, load), hurts, note)


def _fine(name: str, load: MemoryWorkload) -> Scenario:
    return Scenario(f"reclaim_stall/healthy: {name}", None, partial(run, replace(load, waits=())))


def _node(node: Node, free_mib_s: float = 600.0, grower: bool = True) -> Snapshot:
    """With the free memory that runs out first, and the cgroup that takes it."""
    made = simulate(node)
    begin = min((int(at * 10) for at, *_ in node.page_reclaim), default=made.ticks)
    ticks = np.arange(made.ticks)
    taken = np.clip(ticks - (begin - 30), 0, 40) / 10 * free_mib_s * MIB
    free = np.maximum(200.0 * MIB, 3_000.0 * MIB - taken)
    margin = np.maximum(0.0, free - 150.0 * MIB)
    series = dict(made.node.series) | {"memory_free_bytes": free, "vm_low_margin_bytes": margin}
    changed = replace(made.node, series=series)
    usage = {"memory_usage_bytes": 500.0 * MIB + taken, "memory_anon_bytes": np.full(made.ticks, 300.0 * MIB)}
    facts = {"workload.manager": "kubernetes", "workload.container": "importer", "memory.limit_bytes": "-1"}
    cgroups = (*made.cgroups, view(40, "cgroup", "/kubepods/pod9/importer", usage, facts)) if grower else made.cgroups
    return replace(made, subject=changed, node=changed, cgroups=cgroups)


def _reads_files(seed: int) -> Snapshot:
    """A node that is short of memory, seen from a cgroup that is far from its own limit."""
    made = run(replace(AT_LIMIT, limit_mib=4000, files=((2, 60, 4.0),), waits=(), seed=seed))
    columns = dict(made.subject.series) | {"memory_limit_hits": np.zeros(made.ticks)}
    return replace(made, subject=replace(made.subject, series=columns))


def _waits(made: Snapshot) -> Snapshot:
    """Tasks wait for memory as long as threads are blocked, and the limit is hit."""
    waits = np.minimum(0.8 * made.processes[0].series["process_blocked_us"], 1e5)
    own = {**made.subject.series, "psi_memory_some_us": waits, "memory_limit_hits": np.where(waits > 0, 40.0, 0.0)}
    return replace(made, subject=replace(made.subject, series=own))


def _files() -> Snapshot:
    """Every request reads what another one dropped."""
    use = DiskUse(every(1.4, 0.12, 0.3, 0.08, times=40), refaults=900.0, used=0.995, in_io=1.0)
    return _waits(on_disk(simulate_server(replace(SERVER, hiccups=use.spans)).snapshot, use))


def _disk() -> Snapshot:
    """A slow disk, under a server whose page cache fills its limit."""
    use = DiskUse(every(3.0, 0.9, 0.5, times=18), request_us=45_000.0, busy=0.95, refaults=8.0, used=0.99)
    made = on_disk(simulate_server(replace(SERVER, hiccups=use.spans, seed=5)).snapshot, use)
    own = {**made.subject.series, "psi_memory_some_us": np.full(made.ticks, 300.0)}
    return replace(made, subject=replace(made.subject, series=own))


SCENARIOS = (
    _fault("a cgroup full of page cache", AT_LIMIT),
    _fault("a cgroup that serves no DNS", replace(AT_LIMIT, serves_dns=False, go=False, software="python3", seed=2)),
    _fault("1 GiB", replace(AT_LIMIT, limit_mib=1024, files=((2, 60, 80.0),), seed=3)),
    _fault("with gaps", replace(AT_LIMIT, seen_ratio=0.75, seed=4)),
    _fault("a cgroup full of page cache, whose answers are as quick as ever", replace(AT_LIMIT, waits=(), seed=5),
           hurts=False, note="tasks of it wait, but not those that answer"),
    Scenario("reclaim_stall/a node", ID, partial(_node, NODE)),
    Scenario("reclaim_stall/a node that serves DNS", ID, partial(_node, replace(NODE, serves_dns=True, seed=6))),
    Scenario("reclaim_stall/a node, growth unknown", ID, partial(_node, replace(NODE, seed=7), grower=False)),
    Scenario("reclaim_stall/a node in pieces", ID, partial(_node, replace(
        NODE, page_reclaim=((30, 0.6, 50_000, 9_000), (50, 0.8, 50_000, 9_000), (70, 0.5, 60_000, 8_000)), seed=8))),
    _fine("page cache with room", replace(AT_LIMIT, limit_mib=2000, reclaim=(), seed=20)),
    _fine("reclaim without waiting", replace(AT_LIMIT, psi_us=900.0, seed=21)),
    Scenario("reclaim_stall/healthy: the node reclaims, not the cgroup", None, partial(_reads_files, 22)),
    Scenario("reclaim_stall/healthy: a quiet node", None, partial(simulate, Node(seed=23))),
    Scenario(
        "reclaim_stall/near miss: a leak up to the limit",
        "memory/limit_oom",
        partial(run, MemoryWorkload(
            seconds=24, limit_mib=170, leaks=((4, 60, 6.5),), reclaim=((22, 2),), psi_us=40_000, seed=30)),
        note="tasks wait at the limit too, but what grows cannot be given back",
    ),
    Scenario("reclaim_stall/near miss: files that do not fit", "memory/page_cache_thrashing", _files),
    Scenario("reclaim_stall/near miss: a slow disk", "io/disk_stall", _disk),
    Scenario(
        "reclaim_stall/near miss: names are taken back",
        "kernel/dentry_reclaim_contention",
        partial(simulate, Node(negative=8e6, losses=(Loss(40, "direct", 0.3, slowdown=3.0),), seed=31)),
        note="direct reclaim, and pressure; but millions of dentries are what goes",
    ),
)  # fmt: skip
