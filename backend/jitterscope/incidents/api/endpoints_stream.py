"""GET /events/stream: server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from jitterscope.cache import ValkeyError, async_valkey
from jitterscope.events.publish import channel_of
from jitterscope.incidents.api.live import transitions_since
from jitterscope.tenancy.auth import Principal, require

router = APIRouter(prefix="/events", tags=["events"])
HEARTBEAT_S = 15
RETRY_MS = 3000
# Then the client connects again, and a session or token that ended meanwhile is refused.
LIFETIME_S = 15 * 60
_REPLAYED = 200


@router.get(
    "/stream",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events, until the client leaves"}},
)
async def stream_events(
    request: Request,
    principal: Annotated[Principal, Depends(require("incidents:read"))],
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """Live changes: `ready` first (fetch what you show), then `incident`, `collector`, `first_data` and others as they
    happen, each with JSON data {"type", "id", …}. Incident events carry an id: with `Last-Event-ID` the ones missed
    since then come first. A comment every 15 s keeps proxies from closing the connection."""
    return EventSourceResponse(
        _events(request, principal.organization_id, last_event_id),
        ping=HEARTBEAT_S,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(request: Request, organization_id: int, last_event_id: str | None) -> AsyncIterator[ServerSentEvent]:
    client = async_valkey()
    ends = time.monotonic() + LIFETIME_S
    try:
        async with client.pubsub() as pubsub:
            # Subscribe before reading what was missed, so that nothing falls in between.
            await pubsub.subscribe(channel_of(organization_id))
            missed = await _missed(organization_id, last_event_id)
            yield _event({"type": "ready", "id": 0, "missed": len(missed)}, retry=RETRY_MS)
            for item in missed:
                yield _event(item)
            while time.monotonic() < ends and not await request.is_disconnected():
                message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=1.0)
                if message is not None:
                    yield _event(json.loads(message["data"]))
    except (ValkeyError, OSError):
        # Not an error of the client's: it reconnects after `retry`.
        yield _event({"type": "reconnect", "id": 0}, retry=RETRY_MS)
    finally:
        await client.aclose()


async def _missed(organization_id: int, last_event_id: str | None) -> Sequence[Mapping[str, object]]:
    if last_event_id is None or not last_event_id.isdigit() or len(last_event_id) > 18:
        return []
    return await asyncio.to_thread(transitions_since, organization_id, int(last_event_id), _REPLAYED)


def _event(data: Mapping[str, object], retry: int | None = None) -> ServerSentEvent:
    transition_id = data.get("transition_id")
    return ServerSentEvent(
        data=json.dumps(data),
        event=str(data.get("type", "message")),
        id=None if transition_id is None else str(transition_id),
        retry=retry,
    )
