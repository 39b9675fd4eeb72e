"""What-if: what other settings would have made of a recorded window."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request, Response

from jitterscope.answers import refuses
from jitterscope.bounds import HEAVY, QUICK, bounded
from jitterscope.kit.compressed import respond
from jitterscope.kit.declared import not_audited
from jitterscope.paging import unpaged
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal
from jitterscope.whatif import models, service
from jitterscope.whatif.schemas import WhatIf, WhatIfModel, WhatIfRequest

router = APIRouter(tags=["whatif"])
Reader = Annotated[Principal, Depends(require("incidents:read"))]
_DOCUMENTED: dict[int | str, dict[str, Any]] = {200: {"model": WhatIf}}


@router.get("/whatif/models")
@bounded(QUICK)
@unpaged("Models are code.")
def list_models(
    principal: Reader,
    cause: Annotated[str | None, Query(max_length=100, description="Only models for incidents of this cause")] = None,
) -> list[WhatIfModel]:
    """The what-if models and their controls."""
    return models.listed(cause)


@router.post(
    "/whatif/{model}",
    responses=_DOCUMENTED,
    dependencies=[not_audited("computes an answer; changes and stores nothing")],
)
@bounded(HEAVY)
@refuses(404, "The model does not exist, or the resource does not exist in this organization.")
def try_settings(
    http: Request, principal: Reader, model: Annotated[str, Path(max_length=100)], request: WhatIfRequest
) -> Response:
    """Try settings on a recorded window: what each would have done to it, with 90 % intervals.

    Nothing is changed or stored. Repeated requests for the same window are fast.
    """
    content = service.answer(principal.organization_id, model, request)
    # Columns are serialized directly from arrays (NaN becomes null), as in timelines.
    return respond(http, orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), "application/json")
