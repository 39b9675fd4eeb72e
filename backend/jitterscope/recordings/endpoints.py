"""GET /recordings: a window of resources as one file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from jitterscope import requested_window as asked
from jitterscope.db import organization_session
from jitterscope.recordings import file
from jitterscope.recordings.capture import capture
from jitterscope.tenancy.auth import Principal, require

router = APIRouter(prefix="/recordings", tags=["recordings"])
MEDIA_TYPE = "application/vnd.jitterscope.recording"
When = Annotated[str, Query(max_length=40, description="RFC 3339 with a time zone, or µs since the epoch")]


@router.get(
    "",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: {}}, "description": "A recording file: see docs/recordings.md"}},
)
def get_recording(
    principal: Annotated[Principal, Depends(require("series:read"))],
    resource: Annotated[list[int], Query(min_length=1, max_length=50, description="Cgroups, processes, DNS servers")],
    from_: Annotated[str, Query(alias="from", max_length=40)],
    to: When,
) -> Response:
    """Record series, facts, events and queries of resources and their neighbours; at most one hour."""
    from_us, to_us = asked.instant(from_), asked.instant(to)
    with organization_session(principal.organization_id) as session:
        recording = capture(session, resource, from_us, to_us)
    headers = {"Content-Disposition": f'attachment; filename="{recording.start_us}.jitterscope"'}
    return Response(file.to_bytes(recording), media_type=MEDIA_TYPE, headers=headers)
