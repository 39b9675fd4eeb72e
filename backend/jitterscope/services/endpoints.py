"""Services: every server, whatever its protocol, with its rate, failures, latency and stalls."""

from __future__ import annotations

import math
import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.bounds import CHART, HEAVY, bounded
from jitterscope.db import organization_session
from jitterscope.errors import Problem, not_found
from jitterscope.inventory import service as inventory
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit import cursor as cursors
from jitterscope.paging import unpaged
from jitterscope.requested_window import From, When
from jitterscope.services import kinds, listing
from jitterscope.services.calls import Call
from jitterscope.services.grpc_codes import CODES, OK
from jitterscope.services.kinds import Kind
from jitterscope.services.listing import Entry, Listing, Promised
from jitterscope.services.schemas import (
    GrpcStatus,
    Order,
    RequestKind,
    RequestKinds,
    ServiceCall,
    ServiceItem,
    ServiceObjective,
    Services,
)
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["services"])
_MINUTE_US = 60_000_000
_KINDS_US = 15 * _MINUTE_US
_DEFAULT_US, _LONGEST_US = 60 * _MINUTE_US, 24 * 60 * _MINUTE_US


@router.get("/services")
@bounded(HEAVY)
def list_services(
    principal: Annotated[Principal, Depends(require("resources:read"))],
    from_: From = None,
    to: When = None,
    search: Annotated[
        str, Query(max_length=200, description="Part of the name of the server, its container, process, or node")
    ] = "",
    order: Order = "slow",
    descending: bool = True,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 50,
) -> Services:
    """DNS and TCP servers in a window, widened to whole minutes; by default the last hour, at most 24 h."""
    now_us = time.time_ns() // 1000
    from_us, to_us, first = requested_window.page_in_minutes(cursor, from_, to, now_us, _DEFAULT_US, _LONGEST_US)
    with organization_session(principal.organization_id) as session:
        part = slice(first, first + limit)
        found = listing.read(session, search.replace("\0", ""), (from_us, to_us), order, descending, part)
    return Services(
        items=[_item(found, one) for one in found.entries],
        next_cursor=cursors.encode(from_us, to_us, first + limit) if found.more else None,
        from_us=from_us,
        to_us=to_us,
        found=found.found,
        compared=found.compared,
    )


@router.get("/services/{resource_id}/request-kinds")
@bounded(CHART)
@unpaged("One per kind of request that the collector tells apart.")
@refuses(409, "The resource is not a TCP server.")
def list_request_kinds(
    principal: Annotated[Principal, Depends(require("resources:read"))],
    resource_id: int,
    from_: From = None,
    to: When = None,
) -> RequestKinds:
    """Unencrypted requests to a TCP server by kind; by default in the last 15 min, at most 1 h."""
    now_us = time.time_ns() // 1000
    from_us, to_us = requested_window.newest_window(from_, to, now_us, _KINDS_US, _DEFAULT_US)
    with organization_session(principal.organization_id) as session:
        row = inventory.resource(session, resource_id)
        if row is None:
            raise not_found("resource", resource_id)
        if row.kind != "tcp_server":
            raise Problem(
                409, "no-tcp-server", "Not a TCP server", f"Requests to a {row.kind} are not split by kind.",
                "Choose a TCP server.",
            )  # fmt: skip
        found, seconds = kinds.read(session, resource_id, from_us, to_us)
        estimated = kinds.are_estimates(session, resource_id, from_us, to_us)
    return RequestKinds(from_us=from_us, to_us=to_us, estimated=estimated, items=[_kind(one, seconds) for one in found])


def _kind(one: Kind, seconds: float) -> RequestKind:
    return RequestKind(
        kind=one.name or None,
        requests=one.requests,
        requests_per_s=one.requests / seconds if seconds else 0.0,
        mean_us=one.total_us / one.requests,
        p50_us=one.quantile_us(0.5),
        p99_us=one.quantile_us(0.99),
        max_us=one.max_us,
        slow_ratio=one.slow / one.requests,
        client_errors_ratio=one.share_of_judged(one.client_errors),
        server_errors_ratio=one.share_of_judged(one.server_errors),
        grpc_statuses=[
            GrpcStatus(code=code, name=CODES[code], ratio=answers / one.judged)
            for code, answers in one.grpc.most_common()
            if code != OK
        ],
    )


def _item(found: Listing, one: Entry) -> ServiceItem:
    p50, p99 = found.quantiles[one.row.id]
    home = one.watched.cgroup_id
    return ServiceItem(
        id=one.row.id,
        kind=one.row.kind,
        key=one.row.key,
        name=one.row.name,
        program=one.program,
        node=ResourceRef.model_validate(found.places[one.row.node_id]),
        container=None if home is None else ResourceRef.model_validate(found.places[home]),
        runtime=one.runtime,
        requests_per_s=one.figures.requests_per_s,
        failed_ratio=one.figures.failed_ratio,
        server_errors_per_s=one.figures.server_errors_per_s,
        grpc_errors_per_s=one.figures.grpc_errors_per_s,
        slow_ratio=one.figures.slow_ratio,
        p50_us=p50,
        p99_us=p99,
        objective=_objective(found.objectives.get(one.row.id)),
        max_us=one.figures.max_us,
        worst_us=[None if math.isnan(us) else us for us in one.figures.worst_us],
        throttled_ms_per_min=one.figures.throttled_ms_per_min,
        asks=[_call(call) for call in found.asks.get(home or 0, [])],
        incidents=one.incidents,
    )


def _call(one: Call) -> ServiceCall:
    return ServiceCall(
        id=one.row.id,
        kind=one.row.kind,
        key=one.row.key,
        name=one.row.name,
        server=None if one.server is None else ResourceRef.model_validate(one.server),
        service=one.service,
        workloads=one.workloads,
        calls_per_s=one.calls_per_s,
        slow_ratio=one.slow_ratio,
        p50_us=one.p50_us,
        p99_us=one.p99_us,
        max_us=one.max_us,
    )


def _objective(one: Promised | None) -> ServiceObjective | None:
    if one is None:
        return None
    return ServiceObjective(
        objective=str(one.objective),
        origin=one.objective.origin,
        limit_us=one.objective.limit_us,
        value_us=one.value_us,
        met=None if one.value_us is None else one.value_us <= one.objective.limit_us,
    )
