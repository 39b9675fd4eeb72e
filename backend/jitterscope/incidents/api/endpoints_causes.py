"""GET /causes: what Jitterscope can find. The same for every organization."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from jitterscope.bounds import QUICK, bounded
from jitterscope.diagnosis.core.cause import Cause
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.errors import not_found
from jitterscope.incidents.api.schemas import CauseInfo, RivalInfo
from jitterscope.paging import unpaged
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/causes", tags=["causes"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]


@router.get("")
@bounded(QUICK)
@unpaged("Causes are code.")
def list_causes(_principal: Reader) -> list[CauseInfo]:
    """Every cause, sorted by id."""
    return [_info(cause) for cause in all_causes().values()]


@router.get("/{cause_id:path}")
@bounded(QUICK)
def get_cause(_principal: Reader, cause_id: str) -> CauseInfo:
    """One cause, such as "cpu/gc_throttling"."""
    cause = all_causes().get(cause_id)
    if cause is None:
        raise not_found("cause", cause_id)
    return _info(cause)


def _info(cause: Cause) -> CauseInfo:
    known = all_causes()
    return CauseInfo(
        id=cause.id,
        title=cause.title,
        summary=cause.summary,
        mechanism=cause.mechanism,
        needs=list(cause.needs),
        rivals=[RivalInfo(id=rival, title=known[rival].title) for rival in cause.rivals if rival in known],
        false_positives=list(cause.false_positives),
        references=list(cause.references),
    )
