"""Metrics of other systems by name, label, and resource, and their senders."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from sqlalchemy.orm import Session

from jitterscope import db, requested_window
from jitterscope.answers import refuses
from jitterscope.bounds import CHART, bounded
from jitterscope.errors import Problem, not_found
from jitterscope.inventory import service as inventory
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit import cursor as cursors
from jitterscope.kit.compressed import respond
from jitterscope.paging import one_position, unpaged
from jitterscope.remote import belonging, drawing, metrics, senders
from jitterscope.remote.schemas import (
    LabelValue,
    MetricCharts,
    MetricLabel,
    MetricLine,
    MetricName,
    MetricNames,
    MetricSeries,
    Received,
    Sender,
    View,
)
from jitterscope.series import external_metrics, external_search
from jitterscope.series.external_search import Label
from jitterscope.series.external_selection import Match, Selection
from jitterscope.series.types import nullable
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/metrics", tags=["metrics"])

ReadSeries = Annotated[Principal, Depends(require("series:read"))]
ReadCollectors = Annotated[Principal, Depends(require("collectors:read"))]
Matches = Annotated[
    list[str] | None,
    Query(
        max_length=20,
        description="Labels: NAME=VALUE, NAME!=VALUE (also matches series without it), NAME~PART of the value",
    ),
]
OfResource = Annotated[int | None, Query(description="Only series that belong to this resource, by labels or address")]
From = Annotated[str | None, Query(alias="from", description="RFC 3339; default: 1 h before `to`")]
To = Annotated[str | None, Query(description="RFC 3339; default: now")]
Name = Annotated[str, Query(min_length=1, max_length=200)]

_MATCH = re.compile(r"(.+?)(!=|=|~)(.*)", re.DOTALL)
_MOST_SENDERS = 50
_DEFAULT_US = 3_600_000_000
_LONGEST_US = 31 * 24 * _DEFAULT_US
_MOST_POINTS = 20_000


@router.get("")
@bounded(CHART)
@refuses(404, "The resource does not exist in this organization.")
def list_metrics(
    principal: ReadSeries,
    search: Annotated[str, Query(max_length=200, description="Parts of the name, case-insensitive")] = "",
    match: Matches = None,
    resource: OfResource = None,
    from_: From = None,
    to: To = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
) -> MetricNames:
    """Remote-write metrics with samples since about the start of the window, sorted by name."""
    after = max(0, one_position(cursor) or 0)
    with db.organization_session(principal.organization_id) as session:
        selection = _selection(session, None, search, match, resource, _window(from_, to)[0])
        found, names, series = external_search.names(session, selection, after, limit)
        described = external_metrics.of(session, [one.name for one in found])
    items = []
    for one in found:
        said = described.get(one.name)
        view = metrics.view_of(one.name, one.kind, said)
        items.append(
            MetricName(
                name=one.name, type=metrics.type_of(one.name, one.kind, said), view=view, series=one.series,
                unit=metrics.unit_of(one.name, said, view), help=said.help or None if said else None,
                last_seen=datetime.fromtimestamp(one.last_seen_us / 1e6, UTC),
            )
        )  # fmt: skip
    more = items and after + len(items) < names
    return MetricNames(
        items=items, next_cursor=cursors.encode(after + len(items)) if more else None, found=names, series=series
    )


@router.get("/labels")
@bounded(CHART)
@unpaged("Of very many labels and values only those with the most series.")
@refuses(404, "The resource does not exist in this organization.")
def list_metric_labels(
    principal: ReadSeries, name: Name, match: Matches = None, resource: OfResource = None, from_: From = None,
    to: To = None,
) -> list[MetricLabel]:  # fmt: skip
    """Labels of a metric's series, each with its values, to filter by."""
    with db.organization_session(principal.organization_id) as session:
        selection = _selection(session, name, "", match, resource, _window(from_, to)[0])
        found = external_search.labels(session, selection)
    return [
        MetricLabel(
            name=one.name,
            found=one.found,
            values=[LabelValue(value=value, series=series) for value, series in one.values],
        )
        for one in found
    ]


@router.get("/series", response_model=MetricCharts)
@bounded(CHART)
@refuses(404, "The resource does not exist in this organization.")
def query_metric(
    request: Request,
    principal: ReadSeries,
    name: Name,
    match: Matches = None,
    resource: OfResource = None,
    view: Annotated[
        View | None,
        Query(description="raw, rate per second, or quantiles of the buckets of a classic histogram; default: by type"),
    ] = None,
    from_: From = None,
    to: To = None,
    points: Annotated[int, Query(ge=1, le=2000)] = 300,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Label sets per page")] = 20,
) -> Response:
    """Series of a metric, one page of label sets at a time, with their total number."""
    if points * limit > _MOST_POINTS:
        raise _bad("points", f"points times label sets can be at most {_MOST_POINTS} in one request")
    after = max(0, one_position(cursor) or 0)
    from_us, to_us = _window(from_, to)
    with db.organization_session(principal.organization_id) as session:
        selection = _selection(session, name, "", match, resource, from_us)
        described = external_metrics.of(session, [name]).get(name)
        kind = external_search.kind_of(session, name) or "gauge"
        shown = view or metrics.view_of(name, kind, described)
        if shown == "quantiles" and not name.endswith(metrics.BUCKETS):
            raise _bad("view", "quantiles need a histogram: ask for the metric that ends with _bucket")
        sets, found = external_search.label_sets(session, selection, after, limit, histogram=shown == "quantiles")
        drawn = drawing.draw(session, sets, shown, from_us, to_us, points)
        narrow = _narrow(external_search.labels(session, selection)) if found > len(sets) else None
        of = inventory.resources_to_show(session, sorted({one.resource_id for one in sets}))
        items = [
            MetricSeries(
                labels=one.labels,
                resource=ResourceRef.model_validate(of[one.resource_id]),
                series=len(one.buckets),
                lines=[MetricLine(name=what, values=nullable(line)) for what, line in lines.items()],
            )
            for one, lines in zip(sets, drawn.lines, strict=True)
        ]  # fmt: skip
    answer = MetricCharts(
        items=items,
        next_cursor=cursors.encode(after + len(sets)) if sets and after + len(sets) < found else None,
        name=name,
        type=metrics.type_of(name, kind, described),
        unit=metrics.unit_of(name, described, shown),
        help=described.help or None if described else None,
        view=shown,
        from_us=from_us,
        to_us=to_us,
        start_us=drawn.grid.start_us,
        step_us=drawn.grid.step_us,
        found=found,
        narrow=narrow,
    )
    # Serialized directly by pydantic: FastAPI would walk over every number again.
    return respond(request, answer.model_dump_json().encode(), "application/json")


@router.get("/received")
@bounded(CHART)
def get_received(principal: ReadCollectors) -> Received:
    """What arrives by remote write, and from which senders."""
    with db.organization_session(principal.organization_id) as session:
        found, count = senders.listed(session, time.time_ns() // 1000, _MOST_SENDERS)
        series, names = external_search.received(session)
    newest = max((one.newest_us for one in found if one.newest_us is not None), default=None)
    return Received(
        senders=[
            Sender(
                token=one.token, agent=one.agent, first_at=one.first_at, last_at=one.last_at, requests=one.requests,
                samples=one.samples, samples_per_s=one.rate, not_written=one.not_written,
                newest_sample=_time(one.newest_us),
            )
            for one in found
        ],
        senders_found=count,
        series=series,
        metrics=names,
        samples_per_s=sum(one.rate for one in found),
        newest_sample=_time(newest),
    )  # fmt: skip


def _selection(
    session: Session, name: str | None, search: str, match: list[str] | None, resource: int | None, from_us: int
) -> Selection:
    of = None
    if resource is not None:
        row = inventory.resource(session, resource)
        if row is None:
            raise not_found("resource", resource)
        of = belonging.of_resource(session, row)
    return Selection(
        name=name,
        containing=search.replace("\0", ""),
        matches=tuple(_match(one) for one in match or ()),
        belonging=of,
        seen_from_us=from_us,
    )


def _window(from_: str | None, to: str | None) -> tuple[int, int]:
    return requested_window.newest_window(from_, to, time.time_ns() // 1000, _DEFAULT_US, _LONGEST_US)


def _match(text: str) -> Match:
    found = _MATCH.fullmatch(text)
    if found is None or "\0" in text or len(text) > 2500:
        raise _bad("match", f"{text[:100]!r} is not NAME=VALUE, NAME!=VALUE or NAME~PART")
    label, operator, value = found.groups()
    return Match(label, "!=" if operator == "!=" else "~" if operator == "~" else "=", value)


def _narrow(labels: list[Label]) -> str | None:
    """The labels that best distinguish the series, with the number of values of each."""
    telling = sorted((one for one in labels if one.found > 1 and one.name != "le"), key=lambda one: -one.found)[:3]
    if not telling:
        return None
    return "Filter by " + ", ".join(f"{one.name} ({one.found} values)" for one in telling) + "."


def _time(at_us: int | None) -> datetime | None:
    return None if at_us is None else datetime.fromtimestamp(at_us / 1e6, UTC)


def _bad(field: str, why: str) -> Problem:
    return Problem(422, "invalid-request", "Invalid request", f"{field}: {why}", "Change it and send it again.")
