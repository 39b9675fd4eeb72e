"""Resources and collectors."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query
from sqlalchemy import select
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.answers import refuses
from jitterscope.bounds import CHART, bounded
from jitterscope.errors import not_found
from jitterscope.inventory import facts, overview, service
from jitterscope.inventory.collectors import SILENT
from jitterscope.inventory.models import Collector, Resource
from jitterscope.inventory.schemas import (
    CollectorItem,
    FactItem,
    ResourceDetail,
    ResourceItem,
    ResourceRef,
    SourceItem,
)
from jitterscope.inventory.types import FactRow, ResourceKind
from jitterscope.kit import cursor as cursors
from jitterscope.kit.allowance import hold, room
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position
from jitterscope.series import service as series
from jitterscope.series.catalogue import FACTS, METRICS
from jitterscope.series.types import TICK_US
from jitterscope.tenancy.auth import Principal, require

router = APIRouter(tags=["inventory"])

ReadResources = Annotated[Principal, Depends(require("resources:read"))]
ReadCollectors = Annotated[Principal, Depends(require("collectors:read"))]
_MINUTE_US = 60_000_000
# Memory per listed collector, with its sources.
_COLLECTOR_BYTES = 20_000
_FOREVER_US = 2**62


@router.get("/resources")
@bounded(CHART)
def list_resources(
    principal: ReadResources,
    kind: ResourceKind | None = None,
    search: Annotated[str | None, Query(max_length=200, description="Part of the name or key")] = None,
    node: Annotated[int | None, Query(description="Resource id of a node")] = None,
    throttled: Annotated[bool, Query(description="Only those throttled in the last 15 min")] = False,
    gone: Annotated[bool, Query(description="Also those not seen in the last 5 min")] = False,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Page[ResourceItem]:
    """Resources by name, with their limits and their use in the last minute. Gone resources only on request."""
    after_id = one_position(cursor)
    with db.organization_session(principal.organization_id) as session:
        rows = overview.find(
            session, kind=kind, search=(search or "").replace("\0", "") or None, node_id=node, throttled=throttled,
            gone=gone, after_id=after_id, limit=limit + 1,
        )  # fmt: skip
        found = overview.items(session, rows[:limit], _now_us())
    return Page(items=found, next_cursor=cursors.encode(rows[limit - 1].id) if len(rows) > limit else None)


@router.get("/resources/{resource_id}")
@bounded(CHART)
def get_resource(principal: ReadResources, resource_id: int) -> ResourceDetail:
    """A resource with its facts and their history, its place in the tree, and what its node's collector can measure."""
    with db.organization_session(principal.organization_id) as session:
        row = overview.with_id(session, resource_id)
        if row is None:
            raise not_found("resource", resource_id)
        (item,) = overview.items(session, [row], _now_us())
        return ResourceDetail(
            **item.model_dump(),
            ancestors=[
                ResourceRef.model_validate(one)
                for one in service.told_apart(session, service.ancestors(session, resource_id))
                if one.id != resource_id
            ],
            children=[ResourceRef.model_validate(one) for one in service.children(session, resource_id)],
            facts=[_fact(one) for one in service.facts(session, [resource_id], _FOREVER_US)[resource_id]],
            history=[_fact(one) for one in facts.history(session, resource_id)],
            sources=_sources(session, row.node_id or row.id),
            metrics=[metric.name for metric in METRICS.values() if row.kind in metric.resources],
        )


@router.get("/collectors")
@bounded(CHART)
@refuses(422, "There are too many collectors: the data of their last minute exceed the limit.")
def list_collectors(principal: ReadCollectors) -> list[CollectorItem]:
    """Every collector that has ever sent data, newest first, and what its sources can measure."""
    with db.organization_session(principal.organization_id) as session:
        rows = session.execute(
            select(Collector, Resource)
            .join(Resource, Resource.id == Collector.node_id)
            .order_by(Collector.first_seen_at.desc())
            .limit(room(_COLLECTOR_BYTES))
        ).all()
        hold(len(rows) * _COLLECTOR_BYTES)
        names = service.names_of_namesakes(session)
        return [_collector(session, collector, node, names.get(node.id, node.name)) for collector, node in rows]


def _collector(session: Session, collector: Collector, node: Resource, name: str) -> CollectorItem:
    now_us = _now_us()
    ticks = series.read_series(
        session, [node.id], ("collector_lateness_us", "collector_cpu_us", "collector_rss_bytes"),
        now_us - _MINUTE_US, now_us,
    )  # fmt: skip
    lateness = ticks.get((node.id, "collector_lateness_us"))
    cpu = ticks.get((node.id, "collector_cpu_us"))
    memory = ticks.get((node.id, "collector_rss_bytes"))
    silent = collector.last_seen_at < datetime.now(UTC) - SILENT
    return CollectorItem(
        node=ResourceRef(id=node.id, kind="node", key=node.key, name=name),
        version=collector.version,
        state="silent" if silent else "receiving",
        first_seen_at=collector.first_seen_at,
        last_seen_at=collector.last_seen_at,
        delay_ms=collector.delay_us / 1000,
        lateness_max_ms=None if lateness is None else float(np.nanmax(lateness)) / 1000,
        cpu_used=None if cpu is None else float(np.nanmean(cpu)) / TICK_US,
        memory_bytes=None if memory is None else float(memory[~np.isnan(memory)][-1]),
        batches=collector.batches,
        dropped_batches=collector.dropped_batches,
        sources=_sources(session, node.id),
    )


def _sources(session: Session, node_id: int) -> list[SourceItem]:
    return [SourceItem.model_validate(source) for source in service.sources(session, node_id)]


def _fact(row: FactRow) -> FactItem:
    known = FACTS.get(row.name)
    return FactItem(
        name=row.name,
        value=row.value,
        since=datetime.fromtimestamp(row.since_us / 1e6, UTC),
        meaning=None if known is None else known.meaning,
    )


def _now_us() -> int:
    return time.time_ns() // 1000
