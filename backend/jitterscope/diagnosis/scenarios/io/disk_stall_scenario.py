"""Servers whose threads wait for a disk or for its I/O limit; and servers that are late for other reasons."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.contention import throttled_delays
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.dns import single_socket_serialization_scenario as one_socket
from jitterscope.diagnosis.scenarios.io.disks import MIB, DiskUse, blocked_too, every, on_disk
from jitterscope.diagnosis.scenarios.memory import reclaim_stall_scenario
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import TICK_US, facts_of, view

ID = "io/disk_stall"
BASE = Workload(qps=200, live_mb=3, quota_us=None, gomaxprocs=1, serves="http", is_go=False)
# A checkpoint every three seconds, larger than what the limit allows in a second.
SPANS = every(3.0, 0.9, 0.5, 1.2, times=18)
LIMITED = DiskUse(SPANS, asked_bytes=3.2 * MIB, limits={"write_bytes_per_s": 1.5 * MIB})
SLOW = DiskUse(SPANS, request_us=45_000.0, busy=0.95)
KUBERNETES = {
    "workload.manager": "kubernetes", "workload.namespace": "shop", "workload.pod": "orders-0",
    "workload.container": "orders", "workload.owner": "StatefulSet/orders",
}  # fmt: skip
BACKUP = view(
    95, "cgroup", "/system.slice/backup.service",
    {"cpu_usage_us": np.full(600, 900.0), "disk_read_bytes": np.full(600, 20.0 * MIB),
     "disk_written_bytes": np.full(600, 1.0 * MIB)},
    {"disk.device": "vdb", "workload.container": "backup.service", "workload.manager": "systemd"},
)  # fmt: skip


def _run(load: Workload, use: DiskUse) -> Snapshot:
    made = simulate(replace(load, hiccups=use.spans)).snapshot
    if load.serves == "dns":
        made = one_socket.split(made, wait_all=True)
    return on_disk(made, use)


def _fault(name: str, load: Workload, use: DiskUse, hurts: bool = True) -> Scenario:
    return Scenario(f"disk_stall/{name}", ID, partial(_run, load, use), hurts)


def _fine(name: str, load: Workload, use: DiskUse, expected: str | None = None) -> Scenario:
    return Scenario(f"disk_stall/look-alike: {name}", expected, partial(_run, load, use))


def _background() -> Snapshot:
    """A background writeback thread is blocked most of the time, at its limit; no answer is late."""
    made = simulate(replace(BASE, seed=21)).snapshot
    return on_disk(made, replace(LIMITED, spans=((1.0, 57.0),), background=0.6))


def _own_code() -> Snapshot:
    """The same, beside answers that the program itself delays."""
    made = simulate(replace(BASE, stray_slow_ratio=0.02, seed=22)).snapshot
    return on_disk(made, replace(LIMITED, spans=(), calm_bytes=1.5 * MIB, background=0.8))


def _elsewhere() -> Snapshot:
    """Stalls in which no thread is blocked: a lock, or another server."""
    spans = every(3.0, 0.3, 0.5, times=15)
    made = simulate(replace(BASE, hiccups=spans, seed=23)).snapshot
    return on_disk(made, replace(LIMITED, spans=(), limits={}))


def _throttled() -> Snapshot:
    """Overload, and a log that is synced now and then."""
    made = simulate(Workload(qps=4000, live_mb=3, seconds=20, serves="http", seed=24)).snapshot
    return on_disk(made, DiskUse(every(4.0, 0.03, times=4)), throttled_delays(made))


def _reclaims() -> Snapshot:
    made = reclaim_stall_scenario.SCENARIOS[0].build()
    waits = np.nan_to_num(made.subject.series["psi_memory_some_us"])
    return blocked_too(made, 0.5 * waits, 8.0)


def _reads_again() -> Snapshot:
    """Its memory limit makes it read files again, which reaches its I/O limit."""
    use = DiskUse(SPANS, asked_bytes=3.2 * MIB, limits={"read_bytes_per_s": 3 * MIB}, refaults=800.0, used=0.99)
    made = _run(replace(BASE, seed=26), use)
    own = made.subject.series
    swapped = {"disk_read_bytes": own["disk_written_bytes"], "disk_written_bytes": own["disk_read_bytes"]}
    return replace(made, subject=replace(made.subject, series={**own, **swapped}))


def _ancestor() -> Snapshot:
    """The limit is that of the parent pod's cgroup."""
    made = _run(replace(BASE, seed=8), replace(LIMITED, limits={}))
    limited = _run(replace(BASE, seed=8), LIMITED).subject
    above = replace(limited, id=70, key="/lab", name="/lab")
    return replace(made, ancestors=(above,))


def _requests() -> Snapshot:
    """A limit on I/O requests, and many small ones."""
    return _run(replace(BASE, seed=9), replace(LIMITED, limits={"writes_per_s": 100.0}, asked_bytes=3.2 * MIB))


def _v1() -> Snapshot:
    """cgroup v1 counts requested I/O: a checkpoint arrives at once, and the limit drains it."""
    made = _run(replace(BASE, seed=10), LIMITED)
    written = np.full(made.ticks, 0.3 * MIB * TICK_US / 1e6)
    for at, seconds in SPANS:
        written[int(at * 10)] += seconds * 1.5 * MIB
    node = replace(made.node, facts=(*made.node.facts, *facts_of({"node.cgroup_version": "1"})))
    own = {**made.subject.series, "disk_written_bytes": written}
    return replace(made, node=node, subject=replace(made.subject, series=own))


SCENARIOS = (
    _fault("its write limit", BASE, LIMITED),
    _fault("short checkpoints, under cgroup v2", replace(BASE, seed=13), replace(
        LIMITED, spans=every(2.0, 0.5, 0.4, times=28), asked_bytes=1.45 * MIB)),
    _fault("its write limit, in Kubernetes", replace(BASE, facts=KUBERNETES, seed=2), LIMITED),
    Scenario("disk_stall/its limit under cgroup v1", ID, _v1),
    Scenario("disk_stall/its limit of writes", ID, _requests),
    Scenario("disk_stall/a limit above it", ID, _ancestor),
    _fault("a slow disk", replace(BASE, seed=3), SLOW),
    _fault("a slow disk, and a limit that does not bite", replace(BASE, seed=4), replace(
        SLOW, limits={"write_bytes_per_s": 200.0 * MIB})),
    _fault("others keep the disk busy", replace(BASE, seed=5), replace(SLOW, own_share=0.1, users=(BACKUP,))),
    _fault("which disk is not known", replace(BASE, seed=6), replace(SLOW, known=False)),
    _fault("DNS", replace(BASE, serves="dns", seed=7), SLOW),
    _fault(
        "serves nothing", replace(BASE, serves=None, seed=11), replace(LIMITED, spans=every(2.0, 1.1, times=28)),
        hurts=False,
    ),
    Scenario("disk_stall_by_pressure/no blocked time", ID, partial(
        _run, replace(BASE, seed=12), replace(LIMITED, pressure=True))),
    Scenario("disk_stall/look-alike: slow writes in the background", None, _background),
    Scenario("disk_stall/look-alike: its own code, beside slow writes in the background", None, _own_code),
    Scenario("disk_stall/look-alike: no thread is blocked", "unexplained/slow_answers", _elsewhere),
    _fine("blocked, and the disk is idle", replace(BASE, seed=25), DiskUse(SPANS), "unexplained/slow_answers"),
    Scenario("disk_stall/near miss: its CPU limit", "cpu/limit_too_low", _throttled),
    Scenario("disk_stall/near miss: it reclaims memory at its limit", "memory/reclaim_stall", _reclaims),
    Scenario("disk_stall/near miss: files that its memory limit does not hold", "memory/page_cache_thrashing",
             _reads_again),
)  # fmt: skip
