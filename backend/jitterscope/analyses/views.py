"""Puts the content of a file into the shape that the causes read: a snapshot of one DNS server or one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from jitterscope.analyses.timeline import TICK_US
from jitterscope.diagnosis.core.snapshot import (
    Distribution,
    Event,
    FactValue,
    FloatArray,
    Queries,
    ResourceView,
    Snapshot,
)

NODE, SUBJECT, SERVER, PROCESS = 1, 2, 3, 4
# Sources that a file cannot replace: reported by causes that need them.
FILE_ONLY = "a file like this has no such data, only a collector does"
_SOURCES = (
    "cgroup_cpu", "dns_tcp", "process_children", "go_runtime", "dns_capture", "dns_path_split", "udp_socket",
    "dns_names", "coredns_metrics", "dnsmasq_counters", "dns_errors",
)  # fmt: skip


def view(
    id: int,
    kind: str,
    name: str,
    *,
    series: Mapping[str, FloatArray] | None = None,
    facts: Mapping[str, str | None] | None = None,
    key: str | None = None,
    since_us: int = 0,
    events: Sequence[Event] = (),
    distributions: Mapping[str, Distribution | None] | None = None,
    queries: Queries | None = None,
) -> ResourceView:
    """A resource of a file, without facts and distributions that are None."""
    return ResourceView(
        id=id,
        kind=kind,
        key=key or f"file:{name}",
        name=name,
        series=dict(series or {}),
        distributions={key: value for key, value in (distributions or {}).items() if value is not None},
        facts=tuple(FactValue(key, value, since_us) for key, value in (facts or {}).items() if value is not None),
        events=tuple(events),
        queries=queries,
    )


def snapshot(
    start_us: int,
    ticks: int,
    name: str,
    *,
    subject_facts: Mapping[str, str | None] | None = None,
    subject_series: Mapping[str, FloatArray] | None = None,
    node_series: Mapping[str, FloatArray] | None = None,
    processes: Sequence[ResourceView] = (),
    dns_servers: Sequence[ResourceView] = (),
    dns_paths: Sequence[ResourceView] = (),
    neighbours: Sequence[ResourceView] = (),
    step_us: int = TICK_US,
) -> Snapshot:
    """A window of `ticks` ticks from `start_us` on about one subject."""
    return Snapshot(
        start_us=start_us,
        ticks=ticks,
        subject=view(SUBJECT, "cgroup", name, facts=subject_facts, series=subject_series, since_us=start_us),
        node=view(NODE, "node", "node", series=node_series),
        processes=tuple(processes),
        dns_servers=tuple(dns_servers),
        dns_paths=tuple(dns_paths),
        neighbours=tuple(neighbours),
        unavailable=dict.fromkeys(_SOURCES, FILE_ONLY),
        step_us=step_us,
    )


def padded(values: FloatArray, ticks: int) -> FloatArray:
    """A series of exactly `ticks` values; those beyond the file are missing."""
    out = np.full(ticks, np.nan)
    out[: min(ticks, len(values))] = values[:ticks]
    return out
