"""Collectors with their own use of the last minute, for lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from jitterscope.inventory import collectors, node_names
from jitterscope.inventory.models import Collector, Resource
from jitterscope.inventory.schemas import CollectorItem, ResourceRef, SourceItem
from jitterscope.inventory.types import SourceRow
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, FloatArray

_MINUTE_US = 60_000_000
_METRICS = ("collector_lateness_us", "collector_cpu_us", "collector_rss_bytes")


def find(session: Session, before_id: int | None, limit: int) -> list[tuple[Collector, Resource]]:
    """Collectors with their nodes, the newest node first, after the one with `before_id`."""
    query = select(Collector, Resource).join(Resource, Resource.id == Collector.node_id)
    if before_id is not None:
        query = query.where(Collector.node_id < before_id)
    rows = session.execute(query.order_by(Collector.node_id.desc()).limit(limit))
    return [(collector, node) for collector, node in rows]


def counts(session: Session) -> tuple[int, int]:
    """How many collectors there are, and how many of them are silent."""
    silent = func.count().filter(Collector.last_seen_at < datetime.now(UTC) - collectors.SILENT)
    found = session.execute(select(func.count(), silent).select_from(Collector)).one()
    return found[0], found[1]


def items(session: Session, rows: Sequence[tuple[Collector, Resource]], now_us: int) -> list[CollectorItem]:
    """The rows with names, sources, and use."""
    ids = [node.id for _, node in rows]
    names = node_names.of_namesakes(session)
    sources = collectors.sources_of(session, ids)
    ticks = series.read_series(session, ids, _METRICS, now_us - _MINUTE_US, now_us) if ids else {}
    silent_before = datetime.now(UTC) - collectors.SILENT
    return [
        _item(
            collector,
            ResourceRef(id=node.id, kind="node", key=node.key, name=names.get(node.id, node.name)),
            sources[node.id],
            [ticks.get((node.id, metric)) for metric in _METRICS],
            silent_before,
        )
        for collector, node in rows
    ]


def _item(
    collector: Collector,
    node: ResourceRef,
    sources: Sequence[SourceRow],
    ticks: Sequence[FloatArray | None],
    silent_before: datetime,
) -> CollectorItem:
    lateness, cpu, memory = ticks
    return CollectorItem(
        node=node,
        version=collector.version,
        state="silent" if collector.last_seen_at < silent_before else "receiving",
        first_seen_at=collector.first_seen_at,
        last_seen_at=collector.last_seen_at,
        delay_ms=collector.delay_us / 1000,
        lateness_max_ms=None if lateness is None else float(np.nanmax(lateness)) / 1000,
        cpu_used=None if cpu is None else float(np.nanmean(cpu)) / TICK_US,
        memory_bytes=None if memory is None else float(memory[~np.isnan(memory)][-1]),
        batches=collector.batches,
        dropped_batches=collector.dropped_batches,
        sources=[SourceItem.model_validate(source) for source in sources],
    )
