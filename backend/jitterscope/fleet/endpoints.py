"""The fleet: a map of its containers."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope.bounds import HEAVY, bounded
from jitterscope.containers.figures import MINUTE_US
from jitterscope.containers.listing import MAX_CONTAINERS, Entry
from jitterscope.containers.views import worst_tick
from jitterscope.db import organization_session
from jitterscope.fleet import glance
from jitterscope.fleet.schemas import Fleet, FleetContainer
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/fleet", tags=["fleet"])
Reader = Annotated[Principal, Depends(require("resources:read"))]
_HOUR_US = 60 * MINUTE_US


@router.get("")
@bounded(HEAVY)
def get_fleet(
    principal: Reader,
    limit: Annotated[int, Query(ge=1, le=MAX_CONTAINERS, description="Maximum number of containers")] = 400,
) -> Fleet:
    """Containers of the last hour, widened to whole minutes, sorted by their worst 100 ms."""
    to_us = -(-_now_us() // MINUTE_US) * MINUTE_US
    span = (to_us - _HOUR_US, to_us)
    with organization_session(principal.organization_id) as session:
        found = glance.read(session, span, limit)
    return Fleet(
        from_us=span[0],
        to_us=span[1],
        found=found.found,
        compared=found.compared,
        throttled=found.throttled,
        unmeasured=found.unmeasured,
        timed=found.timed,
        timed_is_least=found.timed_is_least,
        containers=[_container(one, found.worst_ticks.get(one.row.id)) for one in found.shown],
    )


def _container(one: Entry, tick_us: int | None) -> FleetContainer:
    throttled_us = one.figures.throttled_us
    return FleetContainer(
        **ResourceRef.model_validate(one.row).model_dump(),
        node=ResourceRef.model_validate(one.node),
        namespace=one.facts.get("workload.namespace"),
        pod=one.facts.get("workload.pod"),
        container=one.facts.get("workload.container"),
        cpu_limit=one.cpu_limit,
        cpu_peak=one.figures.cpu_peak,
        throttled_us=None if throttled_us is None else round(throttled_us),
        worst_tick=worst_tick(one.figures, tick_us),
    )


def _now_us() -> int:
    return time.time_ns() // 1000
