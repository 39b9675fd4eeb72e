"""Who calls whom, with the time of each hop."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.bounds import HEAVY, bounded
from jitterscope.db import organization_session
from jitterscope.errors import not_found
from jitterscope.inventory import service as inventory
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.inventory.types import ResourceRow
from jitterscope.requested_window import From, When
from jitterscope.services.callmap import listing
from jitterscope.services.callmap.figures import Call
from jitterscope.services.callmap.listing import Known, Quantiles, Wanted
from jitterscope.services.callmap.schemas import MapCall, MapPlace, ServiceMap
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["services"])
_MINUTE_US = 60_000_000
_DEFAULT_US, _LONGEST_US = 60 * _MINUTE_US, 24 * 60 * _MINUTE_US


@router.get("/services/map")
@bounded(HEAVY)
@refuses(404, "The resource does not exist in this organization.")
def get_service_map(
    principal: Annotated[Principal, Depends(require("resources:read"))],
    from_: From = None,
    to: When = None,
    search: Annotated[
        str, Query(max_length=200, description="Part of the name of a caller, a server, an address, or a node")
    ] = "",
    resource: Annotated[
        int | None, Query(description="Only calls near the place of this server or container; `search` is ignored")
    ] = None,
    hops: Annotated[int, Query(ge=1, le=2, description="How many calls away from that place")] = 1,
) -> ServiceMap:
    """Who calls whom over TCP and DNS in a window, widened to whole minutes; by default the last hour, at most 24 h."""
    now_us = time.time_ns() // 1000
    from_us, to_us, _ = requested_window.page_in_minutes(None, from_, to, now_us, _DEFAULT_US, _LONGEST_US)
    with organization_session(principal.organization_id) as session:
        around = None if resource is None else inventory.resource(session, resource)
        if resource is not None and around is None:
            raise not_found("resource", resource)
        found = listing.read(session, Wanted((from_us, to_us), search.replace("\0", ""), around, hops))
    return ServiceMap(
        from_us=from_us,
        to_us=to_us,
        center=None if found.center is None else found.center.id,
        places=[_place(one) for one in found.places],
        calls=[_call(*one) for one in found.calls],
        places_found=found.places_found,
        calls_found=found.calls_found,
        paths_seen=found.seen,
        paths_compared=found.read,
    )


def _place(one: Known) -> MapPlace:
    return MapPlace(
        id=one.place.id,
        kind=one.place.kind,
        name=one.place.name,
        namespace=one.place.namespace,
        opens=_ref(one.opens),
        node=_ref(one.node),
        members=one.members,
        workloads=one.workloads,
        slow_ratio=one.slow_ratio,
        throttled_ms_per_min=one.throttled_ms_per_min,
        incidents=one.incidents,
    )


def _call(one: Call, quantiles: Quantiles) -> MapCall:
    return MapCall(
        caller=one.caller.id,
        called=one.called.id,
        protocol=one.protocol,
        opens=ResourceRef.model_validate(one.opens),
        services=one.services,
        calls_per_s=one.per_second,
        slow_ratio=one.slow_ratio,
        p50_us=quantiles[0],
        p99_us=quantiles[1],
        max_us=one.max_us,
    )


def _ref(row: ResourceRow | None) -> ResourceRef | None:
    return None if row is None else ResourceRef.model_validate(row)
