"""Timelines: the data behind the picture of an incident, or of any resource."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy.orm import Session

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.bounds import CHART, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.area import Area
from jitterscope.diagnosis.core.registry import all_areas
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.api.schemas import Timeline
from jitterscope.incidents.api.views import us_of
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.timeline import build as timeline
from jitterscope.incidents.timeline import wire
from jitterscope.incidents.timeline.answers import Budget
from jitterscope.inventory import service as inventory
from jitterscope.requested_window import From, When
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["incidents"])
MAX_WINDOW_US = 24 * 3600 * 1_000_000
_DEFAULT_WINDOW_US = 600_000_000
_MARGIN = timedelta(seconds=30)

Points = Annotated[int, Query(ge=10, le=20_000, description="Maximum points per line")]
Dots = Annotated[int, Query(ge=0, le=200_000, description="Maximum single queries; slow ones first")]
_DOCUMENTED = wire.documented(Timeline)


@router.get("/incidents/{incident_id}/timeline", responses=_DOCUMENTED)
@bounded(CHART)
@refuses(404, "The incident does not exist in this organization, or its resource has expired.")
def get_incident_timeline(
    request: Request,
    principal: Annotated[Principal, Depends(require("incidents:read"))],
    incident_id: int,
    from_: From = None,
    to: When = None,
    points: Points = 6_000,
    queries: Dots = 20_000,
) -> Response:
    """The timeline of an incident's subject; by default its strongest window with 30 s around it."""
    with organization_session(principal.organization_id) as session:
        row = actions.get(session, incident_id)
        from_us, to_us = _window(from_, to, us_of(row.window_from - _MARGIN), us_of(row.window_to + _MARGIN))
        area = all_areas().get(row.cause.partition("/")[0])
        return _respond(request, session, row.subject_id, from_us, to_us, Budget(points, queries), area)


@router.get("/resources/{resource_id}/timeline", responses=_DOCUMENTED)
@bounded(CHART)
def get_resource_timeline(
    request: Request,
    principal: Annotated[Principal, Depends(require("incidents:read"))],
    resource_id: int,
    from_: From = None,
    to: When = None,
    points: Points = 6_000,
    queries: Dots = 20_000,
) -> Response:
    """The timeline of a node, a cgroup, or the cgroup of a process or DNS server; by default the newest 10 min."""
    with organization_session(principal.organization_id) as session:
        subject = inventory.owning_subject(session, resource_id)
        if subject is None:
            if inventory.resource(session, resource_id) is None:
                raise not_found("resource", resource_id)
            raise Problem(
                422,
                "no-cgroup",
                "No timeline for this resource",
                "A timeline shows a cgroup with its processes and DNS servers. This resource is not in a cgroup.",
                "Choose one of the cgroups below it.",
            )
        now_us = inventory.node_clock_us(session, subject.node_id) or subject.last_seen_us
        from_us, to_us = _window(from_, to, now_us - _DEFAULT_WINDOW_US, now_us)
        area = all_areas()["kernel"] if subject.kind == "node" else None
        return _respond(request, session, subject.id, from_us, to_us, Budget(points, queries), area)


def _respond(
    request: Request,
    session: Session,
    subject_id: int,
    from_us: int,
    to_us: int,
    budget: Budget,
    area: Area | None,
) -> Response:
    tree = inventory.subject_tree(session, subject_id, from_us, to_us)
    if tree is None:
        raise Problem(
            404,
            "resource-gone",
            "The resource no longer exists",
            "The resource and the data of this incident have expired.",
            "The incident keeps its evidence. Pin incidents whose data you need longer.",
        )
    return wire.answer(request, timeline.build(session, tree, from_us, to_us, budget, area))


def _window(from_: str | None, to: str | None, default_from_us: int, default_to_us: int) -> tuple[int, int]:
    from_us = default_from_us if from_ is None else requested_window.instant(from_)
    to_us = default_to_us if to is None else requested_window.instant(to)
    requested_window.check_window(from_us, to_us, MAX_WINDOW_US)
    return from_us, to_us
