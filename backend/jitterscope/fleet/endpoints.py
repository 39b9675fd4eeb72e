"""The fleet: a map of its containers, and what was changed lately."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope.bounds import HEAVY, bounded
from jitterscope.containers.figures import MINUTE_US
from jitterscope.containers.listing import MAX_CONTAINERS, Entry
from jitterscope.containers.views import worst_tick
from jitterscope.db import organization_session
from jitterscope.fleet import changes, glance
from jitterscope.fleet.changes import Change
from jitterscope.fleet.schemas import Fleet, FleetChange, FleetChanges, FleetContainer
from jitterscope.incidents.api.verification_schemas import SettingStep
from jitterscope.incidents.api.views import time_of
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.tenancy.auth import Principal, require

router = APIRouter(prefix="/fleet", tags=["fleet"])
Reader = Annotated[Principal, Depends(require("resources:read"))]
_HOUR_US = 60 * MINUTE_US


@router.get("")
@bounded(HEAVY)
def get_fleet(
    principal: Reader,
    limit: Annotated[int, Query(ge=1, le=MAX_CONTAINERS, description="Containers that are shown at most")] = 400,
) -> Fleet:
    """Containers of the last hour, widened to whole minutes, by their worst 100 ms."""
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


@router.get("/changes")
@bounded(HEAVY)
def list_changes(
    principal: Reader,
    hours: Annotated[int, Query(ge=1, le=24 * 7, description="How far back")] = 24,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> FleetChanges:
    """Limits, images, versions, and settings that changed, from the history of facts."""
    to_us = _now_us()
    from_us = to_us - hours * _HOUR_US
    with organization_session(principal.organization_id) as session:
        found, complete = changes.read(session, from_us, to_us)
    return FleetChanges(
        from_us=from_us,
        to_us=to_us,
        found=len(found),
        complete=complete,
        items=[_change(one) for one in found[:limit]],
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


def _change(one: Change) -> FleetChange:
    return FleetChange(
        at=time_of(one.at_us),
        subject=ResourceRef.model_validate(one.subject),
        node=ResourceRef.model_validate(one.node),
        workload=one.workload,
        rollout=one.is_rollout,
        resources=one.resources,
        steps=[SettingStep(name=step.name, title=step.title, old=step.old, new=step.new) for step in one.steps],
    )


def _now_us() -> int:
    return time.time_ns() // 1000
