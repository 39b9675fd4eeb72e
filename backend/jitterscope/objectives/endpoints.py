"""Objectives of resources: what is in effect, set, and take back. Reading needs resources:read, changing
resources:write."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.objective import parse
from jitterscope.errors import Problem, not_found
from jitterscope.inventory import service as inventory
from jitterscope.kit.declared import audited
from jitterscope.objectives import service
from jitterscope.objectives.models import ObjectiveRow
from jitterscope.objectives.schemas import ObjectiveRequest, ResourceObjective
from jitterscope.objectives.service import Setting
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/resources/{resource_id}/objective", tags=["objectives"])
Reader = Annotated[Principal, Depends(require("resources:read"))]
Writer = Annotated[Principal, Depends(require("resources:write"))]
_NO_SERVER = "The resource is neither a server nor a cgroup."


@router.get("")
@bounded(QUICK)
@refuses(409, _NO_SERVER)
def get_objective(principal: Reader, resource_id: int) -> ResourceObjective:
    """The latency objective in effect, who set it, and what the pod's annotation says."""
    with organization_session(principal.organization_id) as session:
        return _view(resource_id, _setting(session, resource_id))


@router.put("", dependencies=[audited("objective.set")])
@bounded(QUICK)
@refuses(409, _NO_SERVER)
def set_objective(principal: Writer, resource_id: int, request: ObjectiveRequest) -> ResourceObjective:
    """Set the objective: on a server for its port, on a cgroup for all servers of its workload. It takes precedence
    over an annotation."""
    with organization_session(principal.organization_id) as session:
        setting = _setting(session, resource_id)
        wanted = parse(request.objective)
        before = service.put(session, principal.organization_id, resource_id, wanted, principal.actor)
        detail = {"applies_to": setting.applies_to, "objective": {"from": _text(before), "to": str(wanted)}}
        audit.record(session, principal, "objective.set", f"resource {resource_id}", detail)
        return _view(resource_id, _setting(session, resource_id))


@router.delete("", dependencies=[audited("objective.remove")])
@bounded(QUICK)
@refuses(409, _NO_SERVER)
def remove_objective(principal: Writer, resource_id: int) -> ResourceObjective:
    """Remove the objective that was set for this resource. Returns what is then in effect. If none was set, nothing
    changes."""
    with organization_session(principal.organization_id) as session:
        setting = _setting(session, resource_id)
        before = service.remove(session, resource_id)
        if before is not None:
            detail = {"applies_to": setting.applies_to, "objective": {"from": _text(before), "to": None}}
            audit.record(session, principal, "objective.remove", f"resource {resource_id}", detail)
        return _view(resource_id, _setting(session, resource_id))


def _setting(session: Session, resource_id: int) -> Setting:
    found = service.settings_of(session, [resource_id]).get(resource_id)
    if found is not None:
        return found
    own = inventory.resource(session, resource_id)
    if own is None:
        raise not_found("resource", resource_id)
    raise Problem(
        409,
        "no-server",
        "Not a server",
        f"A {own.kind} answers no requests, so it has no latency objective.",
        "Set it on a DNS or TCP server, or on the cgroup that it runs in.",
    )


def _text(row: ObjectiveRow | None) -> str | None:
    return None if row is None else str(service.objective_of(row))


def _view(resource_id: int, one: Setting) -> ResourceObjective:
    objective = one.objective
    return ResourceObjective(
        resource_id=resource_id,
        objective=None if objective is None else str(objective),
        origin=None if objective is None else objective.origin,
        quantile=None if objective is None else objective.quantile,
        limit_us=None if objective is None else objective.limit_us,
        own=one.own,
        set_by=one.set_by,
        set_at=one.set_at,
        annotation=one.annotation,
        annotation_problem=one.problem,
        applies_to=one.applies_to,
    )
