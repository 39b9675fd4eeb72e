"""The calls from servers to other servers: who is behind each address, how often, and how long each hop takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US
from jitterscope.services.callmap.places import Cgroups

_CALLS, _SLOW, _SLOWEST, _LATENCY = (
    "upstream_calls", "upstream_calls_slow", "upstream_latency_max_us", "upstream_latency_us",
)  # fmt: skip
_PER_SECOND = 1_000_000 / TICK_US
# Upstreams shown per service: those with the most calls.
MAX_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Call:
    """One upstream of a cgroup; `server` is None if it is elsewhere or unknown. Times are µs.

    `service`: NAMESPACE/NAME of the Kubernetes Service with that address. `workloads`: what it selects.
    """

    row: ResourceRow
    server: ResourceRow | None
    service: str | None
    workloads: list[str]
    calls_per_s: float
    slow_ratio: float | None
    p50_us: float | None
    p99_us: float | None
    max_us: float | None


def read(session: Session, cgroup_ids: Sequence[int], from_us: int, to_us: int) -> dict[int, list[Call]]:
    """Calls by cgroup, the most frequent first. The window consists of whole minutes."""
    known = inventory.upstreams_of(session, cgroup_ids, from_us, to_us)
    rows = [row for row, _ in known]
    services = inventory.services_called(session, rows, from_us, to_us)
    behind = Cgroups.read(session, sorted({one for service in services.values() for one in service.ports}))
    minutes = series.read_minutes(session, [row.id for row in rows], (_CALLS, _SLOW, _SLOWEST), from_us, to_us)

    def total(row: ResourceRow, name: str) -> float:
        found = minutes.get((row.id, name))
        return 0.0 if found is None else float(np.nansum(found.total))

    by_cgroup: dict[int, list[tuple[ResourceRow, ResourceRow | None]]] = {}
    for row, server in known:
        if row.parent_id is not None and total(row, _CALLS) > 0:
            by_cgroup.setdefault(row.parent_id, []).append((row, server))
    result: dict[int, list[Call]] = {}
    for cgroup_id, found in by_cgroup.items():
        most = sorted(found, key=lambda one: (-total(one[0], _CALLS), one[0].id))[:MAX_SHOWN]
        result[cgroup_id] = []
        for row, server in most:
            calls, slowest = minutes[row.id, _CALLS], minutes.get((row.id, _SLOWEST))
            quantiles = series.read_quantiles(session, [row.id], _LATENCY, (0.5, 0.99), from_us, to_us)
            service = services.get(row.id)
            highest = None if slowest is None or np.isnan(slowest.high).all() else float(np.nanmax(slowest.high))
            result[cgroup_id].append(
                Call(
                    row=row,
                    server=server,
                    service=None if service is None else service.name,
                    workloads=[] if service is None else [one.name for one in behind.places(service.ports)],
                    calls_per_s=total(row, _CALLS) / max(1.0, float(calls.ticks.sum())) * _PER_SECOND,
                    slow_ratio=total(row, _SLOW) / total(row, _CALLS),
                    p50_us=None if quantiles is None else quantiles[0],
                    p99_us=None if quantiles is None else quantiles[1],
                    max_us=highest,
                )
            )
    return result
