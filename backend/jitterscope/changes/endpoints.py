"""Changes: reported by pipelines, listed with those that facts show. Reporting needs changes:write and nothing else."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import HEAVY, QUICK, bounded
from jitterscope.changes import flux, reports, service, store
from jitterscope.changes import schemas as shapes
from jitterscope.changes.flux import FluxEvent
from jitterscope.changes.schemas import ChangeReport, Changes, ChangeStep
from jitterscope.changes.types import Change
from jitterscope.db import organization_session
from jitterscope.errors import not_found
from jitterscope.inventory import service as inventory
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.declared import audited
from jitterscope.kit.instant import time_of
from jitterscope.requested_window import From, When
from jitterscope.tenancy import limits
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/changes", tags=["changes"])
Reader = Annotated[Principal, Depends(require("changes:read"))]
Writer = Annotated[Principal, Depends(require("changes:write"))]
_DAY_US = 24 * 3600 * 1_000_000
_LONGEST_US = 7 * _DAY_US
_TAKEN = "Another change has this external id."
_REPEATED: dict[int | str, dict[str, Any]] = {
    200: {"model": shapes.Change, "description": "Already reported with the same external id."}
}


@router.get("")
@bounded(HEAVY)
@refuses(404, "The resource does not exist in this organization.")
def list_changes(
    principal: Reader,
    from_: From = None,
    to: When = None,
    resource: Annotated[
        list[int] | None,
        Query(max_length=20, description="Only changes of these resources, their containers, workloads, and nodes"),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Changes:
    """Changes of limits, images, versions, and settings from the history of facts, and reported changes; by default of
    the last 24 h, at most of 7 days."""
    from_us, to_us = requested_window.newest_window(from_, to, time.time_ns() // 1000, _DAY_US, _LONGEST_US)
    with organization_session(principal.organization_id) as session:
        if not resource:
            found, complete = service.everywhere(session, from_us, to_us)
        else:
            asked_for = inventory.resources(session, sorted(set(resource)))
            for one in resource:
                if one not in asked_for:
                    raise not_found("resource", one)
            found, complete = service.of_resources(session, list(asked_for.values()), from_us, to_us)
        items = [_change(one) for one in found[:limit]]
    return Changes(from_us=from_us, to_us=to_us, found=len(found), complete=complete, items=items)


@router.post("", status_code=201, responses=_REPEATED, dependencies=[audited("change.report")])
@bounded(QUICK)
@refuses(404, "The resource does not exist in this organization.")
@refuses(409, _TAKEN)
def report_change(principal: Writer, request: ChangeReport, response: Response) -> shapes.Change:
    """Report a deploy or any other change, and what it applies to."""
    change, is_new = _report(principal, request)
    response.status_code = 201 if is_new else 200
    return change


@router.post("/flux", dependencies=[audited("change.report")])
@bounded(QUICK)
@refuses(409, _TAKEN)
def report_flux_event(principal: Writer, event: FluxEvent) -> shapes.Change | None:
    """Report a change with the event that Flux's notification controller posts to a `generic` provider. Null: the event
    does not say that anything was applied."""
    try:
        report = flux.report_of(event)
    except ValidationError as error:
        raise RequestValidationError(
            [{**one, "loc": ("body", "metadata", *one["loc"])} for one in error.errors(include_context=False)]
        ) from None
    return None if report is None else _report(principal, report)[0]


@router.delete("/{change_id}", status_code=204, dependencies=[audited("change.delete")])
@bounded(QUICK)
def delete_change(principal: Writer, change_id: int) -> None:
    """Delete a reported change. Changes seen in facts cannot be deleted."""
    with organization_session(principal.organization_id) as session:
        row = store.with_id(session, change_id)
        if row is None:
            raise not_found("change", change_id)
        detail = {"title": row.title, "reported_by": row.reported_by}
        audit.record(session, principal, "change.delete", f"change {row.id}", detail)
        store.remove(session, row.id)


def _report(principal: Principal, report: ChangeReport) -> tuple[shapes.Change, bool]:
    limits.spend(principal.organization_id, {"changes": 1})
    with organization_session(principal.organization_id) as session:
        row, is_new = reports.add(session, principal, report)
        return _change(*service.of_reports(session, [row])), is_new


def _change(one: Change) -> shapes.Change:
    seen, reported = one.seen, one.reported
    return shapes.Change(
        id=None if reported is None else reported.id,
        at=time_of(one.at_us),
        origin="seen" if reported is None else "reported",
        kind=one.kind,
        text=one.text,
        what=one.what,
        resource=None if one.resource is None else ResourceRef.model_validate(one.resource),
        of=list(one.of),
        node=None if seen is None else ResourceRef.model_validate(seen.node),
        rollout=seen is not None and seen.is_rollout,
        resources=1 if seen is None else seen.resources,
        steps=[] if seen is None else [ChangeStep.model_validate(step) for step in seen.steps],
        version_from=None if reported is None else reported.version_from,
        version_to=None if reported is None else reported.version_to,
        link=None if reported is None else reported.link,
        author=None if reported is None else reported.author,
        external_id=None if reported is None else reported.external_id,
        reported_by=None if reported is None else reported.reported_by,
    )
