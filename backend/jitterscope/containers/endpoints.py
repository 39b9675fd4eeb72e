"""Containers with their throttling in a window, and the worst tick of each."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope import requested_window
from jitterscope.bounds import HEAVY, bounded
from jitterscope.containers import figures, listing
from jitterscope.containers.figures import MINUTE_US
from jitterscope.containers.listing import Entry, Listing, Wanted
from jitterscope.containers.schemas import ContainerItem, Containers, Order
from jitterscope.containers.views import worst_tick
from jitterscope.db import organization_session
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit import cursor as cursors
from jitterscope.requested_window import From, When
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["containers"])
_DEFAULT_US, _LONGEST_US = 60 * MINUTE_US, 24 * 60 * MINUTE_US


@router.get("/containers")
@bounded(HEAVY)
def list_containers(
    principal: Annotated[Principal, Depends(require("resources:read"))],
    from_: From = None,
    to: When = None,
    search: Annotated[str, Query(max_length=200, description="Part of the name, path, or node name")] = "",
    node: Annotated[int | None, Query(description="Resource id of a node")] = None,
    throttled: Annotated[bool, Query(description="Only those throttled in the window")] = False,
    gone: Annotated[bool, Query(description="Also those not seen in the last 5 min of the window")] = False,
    every: Annotated[bool, Query(description="Also the cgroups that hold containers: pods and slices")] = False,
    order: Order = "worst",
    descending: bool = True,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> Containers:
    """Containers in a window, widened to whole minutes; by default the last hour, at most 24 h."""
    now_us = time.time_ns() // 1000
    from_us, to_us, first = requested_window.page_in_minutes(cursor, from_, to, now_us, _DEFAULT_US, _LONGEST_US)
    wanted = Wanted((from_us, to_us), search.replace("\0", ""), node, gone, every, throttled)
    with organization_session(principal.organization_id) as session:
        found = listing.read(session, wanted, order, descending, slice(first, first + limit))
    return Containers(
        items=[_item(found, one, to_us) for one in found.entries],
        next_cursor=cursors.encode(from_us, to_us, first + limit) if found.more else None,
        from_us=from_us,
        to_us=to_us,
        step_us=figures.minutes_per_step(from_us, to_us) * MINUTE_US,
        found=found.found,
        compared=found.compared,
        listed=found.listed,
    )


def _item(found: Listing, one: Entry, to_us: int) -> ContainerItem:
    measured = one.figures
    return ContainerItem(
        id=one.row.id,
        kind=one.row.kind,
        key=one.row.key,
        name=one.row.name,
        node=ResourceRef.model_validate(one.node),
        namespace=one.facts.get("workload.namespace"),
        pod=one.facts.get("workload.pod"),
        container=one.facts.get("workload.container"),
        active=one.row.last_seen_us >= to_us - listing.GONE_US,
        last_seen_at=datetime.fromtimestamp(one.row.last_seen_us / 1e6, UTC),
        cpu_limit=one.cpu_limit,
        cpu_used=measured.cpu_used,
        cpu_peak=measured.cpu_peak,
        throttled_us=None if measured.throttled_us is None else round(measured.throttled_us),
        throttled_ratio=measured.throttled_ratio,
        worst_tick=worst_tick(measured, found.worst_ticks.get(one.row.id)),
        memory_peak_bytes=measured.memory_peak_bytes,
        peaks=[None if math.isnan(cpus) else cpus for cpus in measured.peaks],
        throttled=measured.throttled.tolist(),
    )
