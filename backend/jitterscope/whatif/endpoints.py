"""What-if: what other settings would have made of a recorded window."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Response

from jitterscope.tenancy.auth import Principal, require
from jitterscope.whatif import dentries, memory, service
from jitterscope.whatif.dentry_schemas import DentryDrop, DentryDropRequest
from jitterscope.whatif.memory_schemas import MemoryWhatIf, MemoryWhatIfRequest
from jitterscope.whatif.schemas import WhatIf, WhatIfRequest

router = APIRouter(tags=["whatif"])
_DOCUMENTED: dict[int | str, dict[str, Any]] = {200: {"model": WhatIf}}


@router.post("/whatif", responses=_DOCUMENTED)
def try_settings(
    principal: Annotated[Principal, Depends(require("incidents:read"))], request: WhatIfRequest
) -> Response:
    """Replay a cgroup's recorded demand under other settings: throttled time, slow queries and p99, with intervals.

    Nothing is changed and nothing is stored: asking again about the same window is fast.
    """
    content = service.answer(principal.organization_id, request)
    # Columns go straight from arrays to text (NaN becomes null), as in timelines.
    return Response(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")


@router.post("/whatif/dentries")
def drop_dentries(
    principal: Annotated[Principal, Depends(require("incidents:read"))], request: DentryDropRequest
) -> DentryDrop:
    """How long the kernel of a node would be busy dropping dentries: all that it holds, or so many.

    By what dropping and making them took on this node before. Nothing is dropped.
    """
    return dentries.answer(principal.organization_id, request)


@router.post("/whatif/memory")
def bound_queries(
    principal: Annotated[Principal, Depends(require("incidents:read"))], request: MemoryWhatIfRequest
) -> MemoryWhatIf:
    """When a burst of queries would have filled a cgroup's memory: with a cap of concurrent queries, or another limit.

    By the memory that each waiting query held in the recorded burst. Nothing is changed and nothing is stored.
    """
    return memory.answer(principal.organization_id, request)
