"""Collectors with their own use of the last minute, for lists."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.inventory import node_names
from jitterscope.inventory.models import Collector, Resource
from jitterscope.inventory.schemas import CollectorItem, ResourceRef, SourceItem
from jitterscope.inventory.store import collectors
from jitterscope.inventory.types import SourceRow
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, FloatArray

_MINUTE_US = 60_000_000
_METRICS = ("collector_lateness_us", "collector_cpu_us", "collector_rss_bytes")


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
