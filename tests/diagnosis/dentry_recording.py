"""Snapshots from tests/fixtures/dentry-drops: a node on which dentries were really made and dropped."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, view

FOLDER = Path(__file__).parent.parent / "fixtures" / "dentry-drops"
TICK_US = 100_000
JIFFY_US = 10_000


@dataclass(frozen=True, slots=True)
class Drop:
    """One real drop: the tick in which it began, how many dentries it freed, and how long it took (s)."""

    tick: int
    freed: int
    negative: int
    wall_s: float


@cache
def drops() -> tuple[Drop, ...]:
    told = json.loads((FOLDER / "drops.json").read_text())
    return tuple(Drop(one["start_us"] // TICK_US, one["freed"], one["negative"], one["wall_s"]) for one in told)


def snapshot(first: int = 0, last: int | None = None, *, with_cgroup: bool = True) -> Snapshot:
    """Ticks [first, last) as the collector would have delivered them; the program's cgroup if it was traced."""
    columns = _columns()
    ticks = len(columns["dentries"])
    part = slice(first, ticks if last is None else last)
    system = _per_tick(columns["system_jiffies"]) * JIFFY_US
    made = np.maximum(0.0, _per_tick(columns["negative"]))
    node = view(
        0, "node", "node-1",
        {name: values[part] for name, values in {
            "dentries": columns["dentries"],
            "dentries_unused": columns["unused"],
            "dentries_negative": columns["negative"],
            "slab_inode_bytes": columns["inode_slab_bytes"],
            "host_system_us": system,
            "host_irq_us": _per_tick(columns["interrupt_jiffies"]) * JIFFY_US,
            "host_runnable": columns["runnable"],
            "vm_drop_slab": _per_tick(columns["drop_slab"]),
            "vm_slabs_scanned": _per_tick(columns["slabs_scanned"]),
        }.items()},
        {"node.cpus": "2", "node.kernel": "6.18.5", "node.dentry_limit": "{}"},
    )  # fmt: skip
    cgroup = view(
        1, "cgroup", "/storm",
        {"cpu_system_us": _per_tick(columns["storm_system_ns"])[part] / 1000, "lookup_failures": made[part]}, {},
    )  # fmt: skip
    count = len(node.series["dentries"])
    start_us = EPOCH_US + first * TICK_US
    return Snapshot(start_us, count, node, node, cgroups=(cgroup,) if with_cgroup else ())


@cache
def _columns() -> dict[str, FloatArray]:
    """On the 100 ms grid; a tick without a sample is NaN."""
    with gzip.open(FOLDER / "node.csv.gz", "rt") as lines:
        rows = list(csv.DictReader(lines))
    tick = np.array([round(int(row["time_us"]) / TICK_US) for row in rows])
    out = {}
    for name in rows[0]:
        if name != "time_us":
            values = np.full(tick[-1] + 1, np.nan)
            values[tick] = [float(row[name]) for row in rows]
            out[name] = values
    return out


def _per_tick(counter: FloatArray) -> FloatArray:
    """A counter's increase, in the tick that reports it."""
    known = np.flatnonzero(np.isfinite(counter))
    out = np.full(len(counter), np.nan)
    out[known[1:]] = np.diff(counter[known])
    return out
