"""What collectors may read of an organization's traffic: shown to members, changed by administrators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from sqlalchemy.orm import Session

from jitterscope import policies
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, bounded
from jitterscope.collection import service
from jitterscope.collection.models import CollectionPolicyRow
from jitterscope.collection.schemas import Collection, CollectionRequest, SourceSwitch
from jitterscope.collection.switches import SWITCHES
from jitterscope.db import organization_session
from jitterscope.kit.declared import audited
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["collectors"])


@router.get("/collection")
@bounded(QUICK)
def get_collection(principal: Annotated[Principal, Depends(require("collectors:read"))]) -> Collection:
    """What collectors read of the organization's traffic, and which parts are switched off."""
    with organization_session(principal.organization_id) as session:
        return _collection(session)


@router.put("/collection", dependencies=[audited("collection.change")])
@bounded(QUICK)
def set_collection(
    principal: Annotated[Principal, Depends(require("organizations:write"))], request: CollectionRequest
) -> Collection:
    """Switch off the named parts, and switch on all others.

    Ingest drops what is off within seconds. Collectors learn of it with their next batch and stop reading it.
    """
    with organization_session(principal.organization_id) as session:
        before = service.set_off(session, principal.organization_id, request.off, principal.actor)
        after = sorted(request.off)
        if list(before) != after:
            audit.record(session, principal, "collection.change", "collection", {"off": {"from": before, "to": after}})
        return _collection(session)


def _collection(session: Session) -> Collection:
    row = policies.read(session, CollectionPolicyRow)
    off = frozenset(row.sources_off if row else ())
    return Collection(
        switches=[
            SourceSwitch(id=one.id, title=one.title, stops=one.stops, off=one.id in off) for one in SWITCHES.values()
        ],
        changed_by=row.changed_by if row else None,
        changed_at=row.changed_at if row else None,
    )
