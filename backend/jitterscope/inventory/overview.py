"""Resources with their activity in the last minute, for lists and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.inventory import node_names
from jitterscope.inventory.models import Resource
from jitterscope.inventory.schemas import ResourceItem, ResourceRef, ResourceUsage
from jitterscope.inventory.store import facts, resources
from jitterscope.inventory.store.resources import ACTIVE, THROTTLED
from jitterscope.inventory.types import FactRow
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, FloatArray

_USAGE_US = 60_000_000
_FOREVER_US = 2**62
_METRICS = (
    "cpu_usage_us", "cpu_periods", "cpu_throttled_periods", "memory_usage_bytes", "process_cpu_us", "dns_queries",
    "requests",
)  # fmt: skip
_NO_USAGE = ResourceUsage(
    cpu_used=None,
    cpu_peak=None,
    throttled_ratio=None,
    memory_bytes=None,
    queries_per_second=None,
    requests_per_second=None,
)


def items(session: Session, rows: Sequence[Resource], now_us: int) -> list[ResourceItem]:
    """The rows with names, limits, and usage."""
    ids = [row.id for row in rows]
    names = node_names.of_namesakes(session)
    nodes = _refs(session, {row.node_id or row.id for row in rows}, names)
    current = facts.in_effect(session, ids, _FOREVER_US)
    usage = _usage(session, rows, now_us)
    now = datetime.now(UTC)
    return [
        ResourceItem(
            id=row.id,
            kind=row.kind,
            key=row.key,
            name=names.get(row.id, row.name),
            node=nodes[row.node_id or row.id],
            parent_id=None if row.parent_id == row.id else row.parent_id,
            first_seen_at=row.first_seen_at,
            last_seen_at=row.last_seen_at,
            active=row.last_seen_at > now - ACTIVE,
            throttled=row.throttled_at is not None and row.throttled_at > now - THROTTLED,
            throttled_at=row.throttled_at,
            cpu_limit=cpu_limit(current[row.id]),
            memory_limit_bytes=_positive(current[row.id], "memory.limit_bytes"),
            usage=usage.get(row.id, _NO_USAGE),
        )
        for row in rows
    ]


def cpu_limit(known: Sequence[FactRow]) -> float | None:
    """CPUs that the quota allows; None without a limit."""
    quota, period = _positive(known, "cpu.quota_us"), _positive(known, "cpu.period_us")
    return quota / period if quota and period else None


def _positive(known: Sequence[FactRow], name: str) -> float | None:
    text = next((fact.value for fact in reversed(known) if fact.name == name), "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < float("inf") else None


def _refs(session: Session, ids: set[int], names: Mapping[int, str]) -> dict[int, ResourceRef]:
    return {
        row.id: ResourceRef(id=row.id, kind=row.kind, key=row.key, name=names.get(row.id, row.name))
        for row in resources.with_ids(session, ids)
    }


def _usage(session: Session, rows: Sequence[Resource], now_us: int) -> dict[int, ResourceUsage]:
    live = [row.id for row in rows if row.kind in ("cgroup", "process", "dns_server", "tcp_server")]
    if not live:
        return {}
    ticks = series.read_series(session, live, _METRICS, now_us - _USAGE_US, now_us)
    return {identity: _usage_of(identity, ticks) for identity in live}


def _usage_of(identity: int, ticks: Mapping[tuple[int, str], FloatArray]) -> ResourceUsage:
    cpu = ticks.get((identity, "cpu_usage_us"))
    if cpu is None:
        cpu = ticks.get((identity, "process_cpu_us"))
    periods = _sum(ticks.get((identity, "cpu_periods")))
    throttled = _sum(ticks.get((identity, "cpu_throttled_periods")))
    memory = ticks.get((identity, "memory_usage_bytes"))
    return ResourceUsage(
        cpu_used=None if cpu is None else float(np.nanmean(cpu)) / TICK_US,
        cpu_peak=None if cpu is None else float(np.nanmax(cpu)) / TICK_US,
        throttled_ratio=throttled / periods if periods and throttled is not None else None,
        memory_bytes=None if memory is None else float(memory[~np.isnan(memory)][-1]),
        queries_per_second=_per_second(ticks.get((identity, "dns_queries"))),
        requests_per_second=_per_second(ticks.get((identity, "requests"))),
    )


def _per_second(values: FloatArray | None) -> float | None:
    return None if values is None else float(np.nanmean(values)) * 1e6 / TICK_US


def _sum(values: FloatArray | None) -> float | None:
    return None if values is None else float(np.nansum(values))
