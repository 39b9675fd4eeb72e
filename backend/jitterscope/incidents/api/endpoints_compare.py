"""Compare: one window with another time or another resource."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.bounds import HEAVY, bounded
from jitterscope.db import organization_session
from jitterscope.errors import Problem, not_found
from jitterscope.incidents.api.compare_schemas import ComparedLoad, ComparedMeasure, ComparedSide, Comparison
from jitterscope.incidents.verification import compare
from jitterscope.incidents.verification.compare import Difference, Side
from jitterscope.inventory import service as inventory
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.inventory.types import ResourceRow
from jitterscope.requested_window import RequiredFrom, RequiredWhen
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["incidents"])
_LONGEST_US = 3_600_000_000


@router.get("/compare")
@bounded(HEAVY)
@refuses(404, "The resource does not exist in this organization.")
def compare_windows(
    principal: Annotated[Principal, Depends(require("incidents:read"))],
    resource: Annotated[int, Query(description="Resource id")],
    from_: RequiredFrom,
    to: RequiredWhen,
    other_from: Annotated[
        str | None, Query(max_length=40, description="Start of the other window; default: `from`")
    ] = None,
    other_resource: Annotated[int | None, Query(description="Resource id; default: the same resource")] = None,
) -> Comparison:
    """Compare a window of at most 1 h with one of the same length: at another time, of another resource, or both."""
    from_us, to_us = requested_window.instant(from_), requested_window.instant(to)
    requested_window.check_window(from_us, to_us, _LONGEST_US)
    start_us = from_us if other_from is None else requested_window.instant(other_from)
    with organization_session(principal.organization_id) as session:
        mine, my_subject = _subject(session, resource)
        theirs, their_subject = (mine, my_subject) if other_resource is None else _subject(session, other_resource)
        this = Side(my_subject.id, from_us, to_us)
        other = Side(their_subject.id, start_us, start_us + to_us - from_us)
        if this == other:
            raise Problem(
                422, "invalid-comparison", "Nothing to compare", "Both sides are the same window of the same resource.",
                "Choose another time or another resource.",
            )  # fmt: skip
        found = compare.compare(session, this, other)
        return Comparison(
            this=_side(session, mine, my_subject, this, found.blocks[0]),
            other=_side(session, theirs, their_subject, other, found.blocks[1]),
            measures=[_measure(one) for one in found.differences],
            loads=[
                ComparedLoad(id=one.load.id, unit=one.load.unit, this=one.this, other=one.other) for one in found.loads
            ],
        )


def _subject(session: Session, resource_id: int) -> tuple[ResourceRow, ResourceRow]:
    """A resource, and the cgroup or node that is measured for it."""
    row = inventory.resource(session, resource_id)
    if row is None:
        raise not_found("resource", resource_id)
    subject = inventory.owning_subject(session, resource_id)
    if subject is None:
        raise Problem(
            422, "no-cgroup", "Nothing is measured for this resource",
            "Compare measures containers and nodes. This resource is not in a cgroup.",
            "Choose a container or a resource in one.",
        )  # fmt: skip
    return row, subject


def _side(session: Session, row: ResourceRow, subject: ResourceRow, side: Side, blocks: int) -> ComparedSide:
    shown = inventory.resources_to_show(session, [row.id, subject.id, subject.node_id])
    return ComparedSide(
        resource=ResourceRef.model_validate(shown[row.id]),
        subject=ResourceRef.model_validate(shown[subject.id]),
        node=ResourceRef.model_validate(shown.get(subject.node_id, shown[subject.id])),
        from_us=side.from_us,
        to_us=side.to_us,
        blocks=blocks,
    )


def _measure(one: Difference) -> ComparedMeasure:
    figure = one.figure
    return ComparedMeasure(
        metric=figure.measure.id,
        title=figure.measure.title,
        unit=figure.measure.unit,
        better=figure.measure.better,
        this=figure.after or 0.0,
        other=figure.before or 0.0,
        ratio=figure.ratio,
        p_value=figure.p_value,
        adjusted_p=one.adjusted_p,
        # The tests are worded for a change; here neither side came first.
        test=None if figure.test is None else figure.test.replace("before and after", "the two sides"),
        differs=one.differs,
    )
