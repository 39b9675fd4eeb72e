"""Snapshots from the 10 ms recordings of case 1 in tests/fixtures/coredns-gc-10ms (see its README)."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.snapshot import (
    Event,
    FactValue,
    FloatArray,
    IntArray,
    Queries,
    ResourceView,
    Snapshot,
)
from jitterscope.diagnosis.scenarios.distributions import distribution_of

FOLDER = Path(__file__).parent.parent / "fixtures" / "coredns-gc-10ms"
STEP_US = 100_000
TRACE = re.compile(r"(\d+) gc \d+ @[\d.]+s.*?: ([\d.]+)\+([\d.]+)\+([\d.]+) ms clock.* (\d+)->(\d+)->(\d+) MB")

ENVIRONMENT = {
    "fault": {"go.env.GOMAXPROCS": "2"},
    "limit": {"go.env.GOMAXPROCS": "2"},
    "gogc": {"go.env.GOMAXPROCS": "2", "go.env.GOGC": "off", "go.env.GOMEMLIMIT": "3GiB"},
    "gomaxprocs": {"go.env.GOMAXPROCS": "1"},
    "burst": {"go.env.GOMAXPROCS": "2"},
}


@dataclass(frozen=True, slots=True)
class Recording:
    """A whole recording on the 100 ms grid; columns are per tick."""

    start_us: int
    columns: dict[str, FloatArray]
    cycles: list[Event]
    sent_us: IntArray
    latency_us: IntArray


@lru_cache(maxsize=8)
def load(variant: str) -> Recording:
    folder = FOLDER / variant
    with gzip.open(folder / "cpu.csv.gz", "rt") as lines:
        cpu = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    with gzip.open(folder / "queries.csv.gz", "rt") as lines:
        queries = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    cycles = []
    with gzip.open(folder / "gctrace.txt.gz", "rt") as lines:
        for line in lines:
            match = TRACE.match(line)
            if match is None:
                continue
            wall_us = int(1000 * sum(float(match[i]) for i in (2, 3, 4)))
            end_us = int(match[1]) // 1000
            cycles.append(Event("go.gc_cycle", end_us - wall_us, wall_us, {"source": "uprobe"}))
    time_us = cpu[:, 0] // 1000
    start_us = int(time_us[0] // STEP_US + 1) * STEP_US
    ticks = int((time_us[-1] - start_us) // STEP_US)
    edges = start_us + np.arange(ticks + 1) * STEP_US
    last = np.searchsorted(time_us, edges, side="right") - 1
    sent_us, latency_us = queries[:, 0] // 1000, queries[:, 1]
    answered_us = sent_us + latency_us
    columns = {
        "cpu_usage_us": np.diff(cpu[last, 4]) / 1000.0,
        "cpu_periods": np.diff(cpu[last, 1]).astype(float),
        "cpu_throttled_periods": np.diff(cpu[last, 2]).astype(float),
        "cpu_throttled_us": np.diff(cpu[last, 3]) / 1000.0,
        "dns_queries": np.histogram(sent_us, edges)[0].astype(float),
        "dns_answers": np.histogram(answered_us, edges)[0].astype(float),
        "dns_slow": np.histogram(answered_us[latency_us > 20_000], edges)[0].astype(float),
    }
    return Recording(start_us, columns, cycles, sent_us, latency_us)


def snapshot(
    variant: str, first: int = 0, ticks: int | None = None, *, cycles: bool = True, quota_us: int | None = None
) -> Snapshot:
    """Ticks [first, first + ticks) of a recording, as the collector would have delivered them."""
    recording = load(variant)
    total = len(recording.columns["cpu_usage_us"])
    ticks = min(total - first, total if ticks is None else ticks)
    start_us = recording.start_us + first * STEP_US
    end_us = start_us + ticks * STEP_US
    quota = quota_us if quota_us is not None else (-1 if variant == "limit" else 50_000)

    def facts(values: dict[str, str]) -> tuple[FactValue, ...]:
        return tuple(FactValue(name, value, start_us) for name, value in values.items())

    part = {name: values[first : first + ticks] for name, values in recording.columns.items()}
    edges = start_us + np.arange(ticks + 1) * STEP_US
    events = tuple(e for e in recording.cycles if start_us < e.end_us <= end_us) if cycles else ()
    active = np.zeros(ticks)
    for event in events:
        active += np.clip(np.minimum(event.end_us, edges[1:]) - np.maximum(event.start_us, edges[:-1]), 0, None)
    answered = recording.sent_us + recording.latency_us
    inside = (answered >= start_us) & (answered < end_us)
    tick = (answered[inside] - start_us) // STEP_US
    server = ResourceView(
        3, "dns_server", "127.0.0.1:1053", "127.0.0.1:1053",
        series={k: v for k, v in part.items() if k.startswith("dns_")},
        distributions={"dns_latency_us": distribution_of(tick, recording.latency_us[inside])},
        facts=facts({"dns.software": "coredns", "dns.version": "1.12.0", "dns.udp_sockets": "1"}),
        queries=Queries(
            recording.sent_us[inside], recording.latency_us[inside], np.zeros(int(inside.sum()), dtype=np.int64),
            complete=((start_us, end_us),),
        ),
    )  # fmt: skip
    process = ResourceView(
        2, "process", "4711:1", "coredns",
        series={"process_cpu_us": part["cpu_usage_us"]} | ({"gc_active_us": active} if cycles else {}),
        facts=facts(
            {"process.executable": "coredns", "go.version": "1.25.3", "go.gc_source": "uprobe",
             "go.automaxprocs": "v1.6.0", "go.default_godebug": "containermaxprocs=0"} | ENVIRONMENT[variant]
        ),
        events=events,
    )  # fmt: skip
    cgroup = {"cpu.quota_us": str(quota), "cpu.period_us": "100000", "workload.manager": "none"}
    cgroup["cpu.burst_us"] = "50000" if variant == "burst" else "0"
    return Snapshot(
        start_us, ticks,
        subject=ResourceView(
            1, "cgroup", "/jitterscope-lab-1/coredns", "/jitterscope-lab-1/coredns",
            series={k: v for k, v in part.items() if k.startswith("cpu_")}, facts=facts(cgroup),
        ),
        node=ResourceView(
            0, "node", "machine", "node-1",
            facts=facts({"node.cpus": "2", "node.kernel": "6.18.5", "node.cgroup_version": "1"}),
        ),
        processes=(process,),
        dns_servers=(server,),
    )  # fmt: skip
