"""Adds to a simulated run the view of a server that waits for a disk: blocked threads, limits, refaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.cpu.contention import LITTLE, contended
from jitterscope.diagnosis.scenarios.telemetry import facts_of, inside_ticks

MIB = 1 << 20
NUMBERS = {"vdb": "254:16", "loop0": "7:0"}


@dataclass(frozen=True, slots=True)
class DiskUse:
    """The disk activity of the server. `spans` are (at_s, seconds) in which a thread is blocked.

    Calm: `calm_bytes`/s are written, requests take `calm_us`. In the spans, `asked_bytes`/s arrive (None: as calm),
    requests take `request_us`, and the disk is `busy` (0..1). `limits` as in the fact. `own_share` of the bytes are the
    server's. `refaults` pages/s in the spans, at usage `used` of the memory limit. `background`: seconds per second in
    which another thread is blocked all the time. `known`: the disk and its activity are known.
    """

    spans: tuple[tuple[float, float], ...]
    calm_bytes: float = 0.3 * MIB
    asked_bytes: float | None = None
    calm_us: float = 700.0
    request_us: float = 700.0
    busy: float = 0.2
    limits: Mapping[str, float] = field(default_factory=dict)
    device: str = "vdb"
    own_share: float = 0.95
    refaults: float = 0.0
    used: float = 0.6
    limit_mib: float = 256.0
    in_io: float = 0.6
    background: float = 0.0
    known: bool = True
    pressure: bool = False
    users: tuple[ResourceView, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


def on_disk(snapshot: Snapshot, use: DiskUse, run_delay_us: FloatArray | None = None) -> Snapshot:
    """The run with a disk, on a node with spare CPU; threads wait for a CPU for `run_delay_us` per tick."""
    n, step_s = snapshot.ticks, snapshot.step_us / 1e6
    inside = inside_ticks(use.spans, n)
    made = contended(
        snapshot, np.full(n, 400.0) if run_delay_us is None else run_delay_us, 0.1, takers=LITTLE, weight="100"
    )
    blocked = (inside + use.background) * snapshot.step_us
    asked = use.calm_bytes if use.asked_bytes is None else use.asked_bytes
    written = (use.calm_bytes + (asked - use.calm_bytes) * inside) * step_s
    requests = np.maximum(1.0, np.round(written / 16384))
    disk = {
        "disk_busy_us": (0.05 + (use.busy - 0.05) * inside) * snapshot.step_us,
        "disk_requests": requests,
        "disk_request_us": requests * (use.calm_us + (use.request_us - use.calm_us) * inside),
        "disk_bytes": written / use.own_share,
    }
    own = {
        "disk_written_bytes": written,
        "disk_read_bytes": np.zeros(n),
        "disk_writes": requests,
        "disk_reads": np.zeros(n),
    }
    return _with(made, use, blocked, inside, disk, own)


def _with(
    made: Snapshot, use: DiskUse, blocked: FloatArray, inside: FloatArray, disk: dict[str, FloatArray],
    own: dict[str, FloatArray],
) -> Snapshot:  # fmt: skip
    n, subject = made.ticks, made.subject
    told = {"number": NUMBERS[use.device], "device": use.device} | dict(use.limits)
    facts = {
        "memory.limit_bytes": str(int(use.limit_mib * MIB)),
        "disk.limits": json.dumps([told] if use.limits else []),
    }
    columns = dict(subject.series)
    columns |= {"memory_usage_bytes": np.full(n, use.used * use.limit_mib * MIB), "memory_refaults": _seconds(
        use.refaults * inside)}  # fmt: skip
    columns |= {"memory_file_bytes": np.full(n, 0.7 * use.used * use.limit_mib * MIB)}
    if use.known:
        columns |= own | disk
        facts |= {"disk.device": use.device, "disk.rotational": "0"}
    if use.pressure:
        columns["psi_io_some_us"] = np.minimum(inside * made.step_us, made.step_us)
    first = made.processes[0]
    if not use.pressure:
        told_of = {"process_blocked_us": blocked, "process_io_wait_us": use.in_io * blocked}
        first = replace(first, series={**first.series, **told_of})
    facts |= dict(use.facts)
    return replace(
        made,
        node=replace(made.node, series={**made.node.series, **disk}),
        subject=replace(subject, series=columns, facts=(*subject.facts, *facts_of(facts))),
        processes=(first, *made.processes[1:]),
        cgroups=(*made.cgroups, *use.users),
    )


def _seconds(per_s: FloatArray) -> FloatArray:
    """Counted once a second, for the second up to then."""
    out = np.full(len(per_s), np.nan)
    for last in range(9, len(per_s), 10):
        out[last] = round(float(per_s[last - 9 : last + 1].mean()))
    return out


def blocked_too(snapshot: Snapshot, blocked_us: FloatArray, refaults_per_s: float = 0.0) -> Snapshot:
    """A run of another area, with this much blocked time per tick of its first process, and refaults."""
    first = snapshot.processes[0]
    series = {**first.series, "process_blocked_us": blocked_us, "process_io_wait_us": 0.9 * blocked_us}
    again = {"memory_refaults": _seconds(np.full(snapshot.ticks, refaults_per_s))}
    disk = {"disk_busy_us": 0.1, "disk_requests": 30.0, "disk_request_us": 0.2}
    scale = {"disk_busy_us": snapshot.step_us, "disk_requests": 1.0, "disk_request_us": snapshot.step_us}
    node = {name: np.full(snapshot.ticks, value * scale[name]) for name, value in disk.items()}
    return replace(
        snapshot,
        subject=replace(snapshot.subject, series={**snapshot.subject.series, **again}),
        node=replace(snapshot.node, series={**node, **snapshot.node.series}),
        processes=(replace(first, series=series), *snapshot.processes[1:]),
    )


def every(seconds: float, *lengths: float, first: float = 2.0, times: int = 20) -> tuple[tuple[float, float], ...]:
    """Spans of these lengths in turn, this many seconds apart."""
    return tuple((first + seconds * n, lengths[n % len(lengths)]) for n in range(times))
