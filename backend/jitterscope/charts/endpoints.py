"""Series for charts, events, and how long they are kept."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import CHART, QUICK, bounded
from jitterscope.charts.schemas import (
    EventItem,
    LeftOut,
    RetentionPolicy,
    RetentionState,
    SeriesChart,
    SeriesCharts,
)
from jitterscope.errors import Problem, not_found
from jitterscope.inventory import service as inventory
from jitterscope.kit.compressed import respond
from jitterscope.kit.declared import audited
from jitterscope.series import charts, external, external_search, retention
from jitterscope.series import service as series
from jitterscope.series.catalogue import METRICS, Metric
from jitterscope.series.external_selection import Belonging, Selection
from jitterscope.series.ids import series_id
from jitterscope.series.read_ticks import Scope
from jitterscope.series.types import nullable
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["series"])

ReadSeries = Annotated[Principal, Depends(require("series:read"))]
WriteSettings = Annotated[Principal, Depends(require("retention:write"))]
From = Annotated[datetime | None, Query(alias="from", description="RFC 3339; default: 15 minutes before `to`")]
To = Annotated[datetime | None, Query(description="RFC 3339; default: now")]
_LONGEST = timedelta(days=1000)
_LONGEST_ZOOM_US = 3_600_000_000
_STEPS_US = (10_000, 100_000)
_MAX_POINTS = 40_000
_MAX_EXTERNAL = 100


@router.get("/series/query", response_model=SeriesCharts)
@bounded(CHART)
@refuses(404, "The resource does not exist in this organization.")
def query_series(
    request: Request,
    principal: ReadSeries,
    resource: Annotated[int, Query(description="Resource id")],
    metric: Annotated[
        list[str],
        Query(min_length=1, max_length=20, description="Names from docs/metrics.md, or of remote-write series"),
    ],
    from_: From = None,
    to: To = None,
    points: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    step_us: Annotated[
        int, Query(description="100000: the grid; 10000: the zoom", json_schema_extra={"enum": list(_STEPS_US)})
    ] = 100_000,
    mean: Annotated[bool, Query(description="false: extremes only, which is faster over long windows")] = True,
) -> Response:
    """Metrics of a resource, downsampled to about `points` points that keep every extreme."""
    from_us, to_us = window(from_, to)
    if step_us not in _STEPS_US:
        raise _bad("step_us", "only 100000 and 10000 are stored")
    if step_us < 100_000 and to_us - from_us > _LONGEST_ZOOM_US:
        raise _bad("from", f"a window at 10 ms can be at most {_LONGEST_ZOOM_US // 1_000_000} s long")
    if len(metric) * points > _MAX_POINTS:
        raise _bad("points", f"metrics times points can be at most {_MAX_POINTS} in one request")
    wanted = [METRICS[name] for name in dict.fromkeys(metric) if name in METRICS]
    others = [name for name in dict.fromkeys(metric) if name not in METRICS]
    with db.organization_session(principal.organization_id) as session:
        row = inventory.resource(session, resource)
        if row is None:
            raise not_found("resource", resource)
        scope = Scope(session, principal.organization_id, (row.node_id,))
        plain = {series_id(resource, one.id): one for one in wanted if one.kind != "distribution"}
        found = charts.chart(scope, list(plain), from_us, to_us, points, step_us, means=mean)
        result = [_chart(resource, plain[identity], found[identity]) for identity in plain if identity in found]
        result += [
            _quantiles(session, resource, one, from_us, to_us, points) for one in wanted if one.kind == "distribution"
        ]
        left_out: list[LeftOut] = []
        for name in others:
            charted, found_sets = _external(session, resource, name, from_us, to_us, points)
            result += charted
            if found_sets > _MAX_EXTERNAL:
                left_out.append(LeftOut(metric=name, found=found_sets, read=_MAX_EXTERNAL))
    # Serialized directly by pydantic: FastAPI would iterate over every number again.
    answer = SeriesCharts(from_us=from_us, to_us=to_us, series=result, left_out=left_out)
    return respond(request, answer.model_dump_json().encode(), "application/json")


@router.get("/resources/{resource_id}/events")
@bounded(CHART)
def list_resource_events(
    principal: ReadSeries,
    resource_id: int,
    from_: From = None,
    to: To = None,
    kind: Annotated[list[str] | None, Query(max_length=20)] = None,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
) -> list[EventItem]:
    """Events of a resource in a window, oldest first: GC cycles, process starts, OOM kills."""
    from_us, to_us = window(from_, to)
    with db.organization_session(principal.organization_id) as session:
        if inventory.resource(session, resource_id) is None:
            raise not_found("resource", resource_id)
        found = series.read_events(session, [resource_id], from_us, to_us, kind, limit).get(resource_id, [])
    return [EventItem.model_validate(event) for event in found]


@router.get("/retention")
@bounded(QUICK)
def get_retention(principal: ReadSeries) -> RetentionState:
    """How long this organization keeps data, and the maximum that it can choose."""
    with db.organization_session(principal.organization_id) as session:
        return _retention(retention.of(session))


@router.put("/retention", dependencies=[audited("retention.change")])
@bounded(QUICK)
def put_retention(principal: WriteSettings, policy: RetentionPolicy) -> RetentionState:
    """Change how long this organization keeps data. Needs an administrator. Older data are deleted within the hour;
    pinned windows stay."""
    if not policy.raw_days <= policy.second_days <= policy.minute_days:
        raise _bad("raw_days", "each level must be kept at least as long as the finer one")
    for level, most_days in asdict(retention.most()).items():
        if getattr(policy, level) > most_days:
            raise Problem(
                422, "beyond-retention-limit", "Longer than this installation keeps data",
                f"{level} can be at most {most_days}.",
                f"Choose a lower value, or ask the operator to raise JITTERSCOPE_RETENTION_MAX_{level.upper()}.",
            )  # fmt: skip
    with db.organization_session(principal.organization_id) as session:
        before, wanted = retention.of(session), retention.Retention(**policy.model_dump())
        retention.set_policy(session, principal.organization_id, wanted)
        detail = {name: {"from": getattr(before, name), "to": value} for name, value in asdict(wanted).items()}
        audit.record(session, principal, "retention.change", "retention", detail)
    return _retention(wanted)


def _retention(policy: retention.Retention) -> RetentionState:
    return RetentionState(**asdict(policy), most=RetentionPolicy.model_validate(retention.most()))


def window(from_: datetime | None, to: datetime | None) -> tuple[int, int]:
    """A window in µs. Times without an offset are UTC. Problem 422 where it is reversed or absurd."""
    end = _utc(to) if to else datetime.now(UTC)
    start = _utc(from_) if from_ else end - timedelta(minutes=15)
    if start >= end:
        raise _bad("from", "it must be before `to`")
    if end - start > _LONGEST or start.year < 2000 or end.year > 2200:
        raise _bad("from", f"the window must be between 2000 and 2200 and at most {_LONGEST.days} days long")
    return round(start.timestamp() * 1e6), round(end.timestamp() * 1e6)


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _bad(field: str, why: str) -> Problem:
    return Problem(422, "invalid-request", "Invalid request", f"{field}: {why}", "docs/metrics.md lists the metrics.")


def _chart(resource_id: int, metric: Metric, found: charts.Chart) -> SeriesChart:
    return SeriesChart(
        resource_id=resource_id,
        metric=metric.name,
        unit=metric.unit,
        kind=metric.kind,
        meaning=metric.meaning,
        step_us=found.step_us,
        resolution=found.resolution,
        t_us=_times(found.start_us, found.step_us, len(found.low)),
        low=nullable(found.low),
        high=nullable(found.high),
        mean=nullable(found.mean),
        count=None,
    )


def _quantiles(
    session: Session, resource_id: int, metric: Metric, from_us: int, to_us: int, points: int
) -> SeriesChart:
    found = charts.quantile_chart(session, series_id(resource_id, metric.id), from_us, to_us, points)
    return SeriesChart(
        resource_id=resource_id,
        metric=metric.name,
        unit=metric.unit,
        kind=metric.kind,
        meaning=metric.meaning,
        step_us=found.step_us,
        resolution="tick",
        t_us=_times(found.start_us, found.step_us, len(found.p50)),
        low=nullable(found.p50),
        high=nullable(found.high),
        mean=nullable(found.p99),
        count=found.count.tolist(),
    )


def _external(
    session: Session, resource_id: int, name: str, from_us: int, to_us: int, points: int
) -> tuple[list[SeriesChart], int]:
    selection = Selection(name=name, belonging=Belonging(resource_ids=(resource_id,)))
    known, found_sets = external_search.label_sets(session, selection, 0, _MAX_EXTERNAL, histogram=False)
    if not known:
        raise _bad("metric", f"there is no metric {name[:100]!r}, and no remote-written series of that name here")
    found = external.read(session, [one.id for one in known], from_us, to_us)
    result = []
    for one in known:
        if one.id in found:
            cut = charts.chart_of_samples(*found[one.id], from_us, to_us, points)
            result.append(
                SeriesChart(
                    resource_id=resource_id, metric=name, labels=one.labels, unit="", kind=one.kind, meaning="",
                    step_us=cut.step_us, resolution=cut.resolution,
                    t_us=_times(cut.start_us, cut.step_us, len(cut.low)),
                    low=nullable(cut.low), high=nullable(cut.high), mean=nullable(cut.mean), count=None,
                )
            )  # fmt: skip
    return result, found_sets


def _times(start_us: int, step_us: int, count: int) -> list[int]:
    times: NDArray[np.int64] = start_us + np.arange(count, dtype=np.int64) * step_us
    result: list[int] = times.tolist()
    return result
