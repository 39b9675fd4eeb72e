"""GET /recordings: a window of resources as one file."""

from __future__ import annotations

from itertools import chain
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from jitterscope import requested_window
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import STREAMED, bounded
from jitterscope.db import organization_session
from jitterscope.kit.declared import audited
from jitterscope.recordings.capture import plan
from jitterscope.recordings.stream import stream
from jitterscope.requested_window import RequiredFrom, RequiredWhen
from jitterscope.tenancy.auth import require, still_allowed
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/recordings", tags=["recordings"])
_SCOPE = "series:read"
MEDIA_TYPE = "application/vnd.jitterscope.recording"


@router.get(
    "",
    response_class=Response,
    dependencies=[audited("recording.export")],
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "A recording file: see docs/recordings.md"}},
)
@bounded(STREAMED)
@refuses(404, "The resource does not exist in this organization.")
def get_recording(
    request: Request,
    principal: Annotated[Principal, Depends(require(_SCOPE))],
    resource: Annotated[
        list[int], Query(min_length=1, max_length=50, description="Ids of nodes, cgroups, processes, or DNS servers")
    ],
    from_: RequiredFrom,
    to: RequiredWhen,
) -> Response:
    """Export series, facts, events, and queries of resources and their neighbors; at most 1 h."""
    from_us, to_us = requested_window.instant(from_), requested_window.instant(to)
    with organization_session(principal.organization_id) as session:
        planned = plan(session, resource, from_us, to_us)
        target = f"resources {', '.join(map(str, resource))}"
        audit.record(session, principal, "recording.export", target, {"from_us": from_us, "to_us": to_us})
    content = stream(principal.organization_id, planned, lambda: still_allowed(request, _SCOPE))
    # Errors show in the first part, before the response has begun.
    first = [next(content), next(content)]
    headers = {"Content-Disposition": f'attachment; filename="{planned.from_us}.jitterscope"'}
    return StreamingResponse(chain(first, content), media_type=MEDIA_TYPE, headers=headers)
