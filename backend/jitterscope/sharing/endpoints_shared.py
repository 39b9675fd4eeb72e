"""What the holder of a link sees: one incident and its picture. The link identifies it, so no route takes an id."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.bounds import SHARED, bounded
from jitterscope.changes import service as changes
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.registry import all_areas
from jitterscope.errors import Problem
from jitterscope.incidents.api import node_names
from jitterscope.incidents.api import views as incident_views
from jitterscope.incidents.api.schemas import TimelinePicture
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.timeline import build as timeline
from jitterscope.incidents.timeline import wire
from jitterscope.incidents.timeline.answers import Budget
from jitterscope.incidents.verification import verifications
from jitterscope.inventory import service as inventory
from jitterscope.paging import unpaged
from jitterscope.requested_window import From, When
from jitterscope.sharing import links, views
from jitterscope.sharing.holder import link_holder
from jitterscope.sharing.links import Holder
from jitterscope.sharing.schemas import SharedChanges, SharedIncident

router = APIRouter(prefix="/shared", tags=["sharing"])
OfLink = Annotated[Holder, Depends(link_holder)]
# Time shown around the incident's window.
_MARGIN = timedelta(seconds=30)
# Changes shortly before the picture belong to it.
_BEFORE = timedelta(minutes=10)
_POINTS, _QUERIES, _MOST_CHANGES = 6_000, 100_000, 200
# For browsers that open the answer itself: its address holds no secret, but need not be passed on either.
_HEADERS = {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex, nofollow"}


@router.get("/incident")
@bounded(SHARED)
@refuses(404, "The incident no longer exists.")
def get_shared_incident(holder: OfLink, response: Response) -> SharedIncident:
    """The incident of a link. The link's secret is the bearer token."""
    response.headers.update(_HEADERS)
    with organization_session(holder.organization_id) as session:
        row = actions.get(session, holder.incident_id)
        links.note_use(session, holder)
        history = actions.history(session, row.id)
        incident = incident_views.incident_of(row, history, verifications.newest(session, row.id))
        (incident,) = node_names.told_apart(session, [incident])
        return views.shared_incident(incident, holder.expires_at)


@router.get("/timeline", responses=wire.documented(TimelinePicture))
@bounded(SHARED)
@refuses(404, "The data of the incident have expired.")
def get_shared_timeline(request: Request, holder: OfLink, from_: From = None, to: When = None) -> Response:
    """The timeline of the link's incident: its window with 30 s around it, or a part of that."""
    with organization_session(holder.organization_id) as session:
        row = actions.get(session, holder.incident_id)
        links.note_use(session, holder)
        first_us = incident_views.us_of(row.window_from - _MARGIN)
        last_us = incident_views.us_of(row.window_to + _MARGIN)
        from_us, to_us = _within(from_, to, first_us, last_us)
        tree = inventory.subject_tree(session, row.subject_id, from_us, to_us)
        if tree is None:
            raise Problem(
                404,
                "resource-gone",
                "The data have expired",
                "The measurements of this incident are no longer kept.",
                "The verdict and its evidence are still shown.",
            )
        area = all_areas().get(row.cause.partition("/")[0])
        content = timeline.build(session, tree, from_us, to_us, Budget(_POINTS, _QUERIES), area)
    # The only part with resource ids.
    shown = {name: content[name] for name in TimelinePicture.model_fields}
    return wire.answer(request, shown, _HEADERS)


@router.get("/changes")
@bounded(SHARED)
@unpaged(f"At most {_MOST_CHANGES}.")
@refuses(404, "The incident no longer exists.")
def get_shared_changes(holder: OfLink, response: Response, from_: From = None, to: When = None) -> SharedChanges:
    """Changes to the incident's subject, workload, and node, starting 10 min before the timeline."""
    response.headers.update(_HEADERS)
    with organization_session(holder.organization_id) as session:
        row = actions.get(session, holder.incident_id)
        links.note_use(session, holder)
        first_us = incident_views.us_of(row.window_from - _MARGIN - _BEFORE)
        last_us = incident_views.us_of(row.window_to + _MARGIN)
        from_us, to_us = _within(from_, to, first_us, last_us)
        subject = inventory.resource(session, row.subject_id)
        found = [] if subject is None else changes.of_resources(session, [subject], from_us, to_us)[0]
        items = [views.shared_change(one, row.subject_name) for one in found[:_MOST_CHANGES]]
    return SharedChanges(from_us=from_us, to_us=to_us, items=items)


def _within(from_: str | None, to: str | None, first_us: int, last_us: int) -> tuple[int, int]:
    """Clipped, not refused: the window may have grown or moved since the page asked for it."""
    from_us = max(first_us, requested_window.instant_or_none(from_) or first_us)
    to_us = min(last_us, requested_window.instant_or_none(to) or last_us)
    requested_window.check_window(from_us, to_us, last_us - first_us)
    return from_us, to_us
