"""Resources and collectors."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.bounds import CHART, bounded
from jitterscope.errors import not_found
from jitterscope.inventory import collector_list, overview, service
from jitterscope.inventory.schemas import Collectors, FactItem, ResourceDetail, ResourceItem, ResourceRef, SourceItem
from jitterscope.inventory.store import collectors, facts, resources
from jitterscope.inventory.types import FactRow, ResourceKind
from jitterscope.kit import cursor as cursors
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position
from jitterscope.series.catalogue import FACTS, METRICS
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["inventory"])

ReadResources = Annotated[Principal, Depends(require("resources:read"))]
ReadCollectors = Annotated[Principal, Depends(require("collectors:read"))]
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
        rows = resources.page(
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
        row = resources.with_id(session, resource_id)
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
def list_collectors(
    principal: ReadCollectors, cursor: str | None = None, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Collectors:
    """Collectors that have ever sent data, the newest node first, and what their sources can measure."""
    before_id = one_position(cursor)
    with db.organization_session(principal.organization_id) as session:
        rows = collectors.page(session, before_id, limit + 1)
        items = collector_list.items(session, rows[:limit], _now_us())
        found, silent = collectors.counts(session)
    next_cursor = cursors.encode(items[-1].node.id) if len(rows) > limit else None
    return Collectors(items=items, next_cursor=next_cursor, found=found, silent=silent)


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
