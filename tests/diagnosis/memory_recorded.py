"""Snapshots from the runs of a real CoreDNS in a memory cgroup, in tests/fixtures/coredns-memory (see its README)."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from jitterscope.diagnosis.core.snapshot import Distribution, FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, view

FOLDER = Path(__file__).parent.parent / "fixtures" / "coredns-memory"


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run on the 100 ms grid; `killed` is the tick of the first kill, None if there was none."""

    name: str
    limit_bytes: int
    max_concurrent: int | None
    burst_tick: int
    killed: int | None
    columns: dict[str, FloatArray]
    latency: Distribution

    @property
    def ticks(self) -> int:
        return len(self.columns["memory_usage_bytes"])


def names() -> list[str]:
    return sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


@lru_cache(maxsize=16)
def load(name: str) -> Run:
    with gzip.open(FOLDER / f"{name}.json.gz", "rt") as file:
        read: dict[str, Any] = json.load(file)
    columns = {key: np.array(values, dtype=np.float64) for key, values in read["columns"].items()}
    kills = np.flatnonzero(np.nan_to_num(columns["memory_oom_kills"]) > 0)
    tick, bucket, count = np.array(read["latency"] or np.zeros((0, 3)), dtype=np.int64).reshape(-1, 3).T
    return Run(
        name, read["limit_bytes"], read["max_concurrent"], read["burst_tick"], int(kills[0]) if len(kills) else None,
        columns, Distribution(tick, bucket, count),
    )  # fmt: skip


def snapshot(run: Run, until: int | None = None) -> Snapshot:
    """What was known at tick `until` of the run (None: all of it)."""
    end = run.ticks if until is None else until
    cgroup = {name: values[:end] for name, values in run.columns.items() if name.startswith("memory_")}
    dns = {name: values[:end] for name, values in run.columns.items() if name.startswith("dns_")}
    upstream: dict[str, object] = {"zone": ".", "address": "127.77.0.2", "port": 5301}
    if run.max_concurrent is not None:
        upstream["max_concurrent"] = run.max_concurrent
    subject = view(1, "cgroup", "/lab/coredns", cgroup, {"memory.limit_bytes": str(run.limit_bytes)})
    process = view(2, "process", "4711:1", {}, {"process.executable": "coredns", "go.version": "1.26.8"})
    facts = {"dns.software": "coredns", "dns.version": "1.12.0", "dns.upstreams": json.dumps([upstream])}
    made = view(3, "dns_server", "127.77.0.1:5300", dns, facts)
    kept = run.latency.tick < end
    part = Distribution(run.latency.tick[kept], run.latency.bucket[kept], run.latency.count[kept])
    server = ResourceView(made.id, made.kind, made.key, made.name, made.series, {"dns_latency_us": part}, made.facts)
    node = view(0, "node", "node-1", {}, {"node.cpus": "2", "node.kernel": "6.18.0", "node.cgroup_version": "1"})
    return Snapshot(EPOCH_US, end, subject, node, processes=(process,), dns_servers=(server,))
