"""GET /events/stream: server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request
from redis.asyncio.client import PubSub
from sqlalchemy.exc import SQLAlchemyError
from sse_starlette import EventSourceResponse, ServerSentEvent

from jitterscope.bounds import EVENTS, bounded
from jitterscope.cache import ValkeyError, async_valkey
from jitterscope.errors import Problem
from jitterscope.events.publish import channel_of
from jitterscope.incidents.api import stream_places
from jitterscope.incidents.api.live import transitions_since
from jitterscope.incidents.api.stream_access import Access
from jitterscope.incidents.api.stream_places import Place
from jitterscope.kit.perobject import PerObject
from jitterscope.tenancy import limits
from jitterscope.tenancy.auth import COOKIE, caller_of, require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/events", tags=["events"])
HEARTBEAT_S = 15
RETRY_MS = 3000
LIFETIME_S = 15 * 60
# Whether the caller may still listen is checked before each event, and this often without events.
CHECK_S = 5
_REPLAYED = 200
_MOST_AT_ONCE = 1000
_access: PerObject[Access] = PerObject(Access)


@router.get(
    "/stream",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events, until the client disconnects"}},
)
@bounded(EVENTS)
async def stream_events(
    request: Request,
    principal: Annotated[Principal, Depends(require("incidents:read"))],
    last_event_id: Annotated[str | None, Header()] = None,
) -> EventSourceResponse:
    """Live changes: first `ready` (fetch what you show), then `incident`, `collector`, `first_data`, and others as they
    happen, each with JSON data {"type", "id", …}. Incident events carry an id: with `Last-Event-ID` the stream starts
    with the ones missed since then. A comment every 15 s keeps proxies from closing the connection."""
    await asyncio.to_thread(limits.check_streams, principal.organization_id)
    try:
        place = await asyncio.to_thread(stream_places.take, principal)
    except (ValkeyError, OSError):
        place = None  # the stream reports it itself
    return EventSourceResponse(
        _events(request, principal.organization_id, last_event_id, place),
        ping=HEARTBEAT_S,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(
    request: Request, organization_id: int, last_event_id: str | None, place: Place | None
) -> AsyncIterator[ServerSentEvent]:
    client = async_valkey()
    ends = time.monotonic() + LIFETIME_S
    check_at = time.monotonic() + CHECK_S
    try:
        async with client.pubsub() as pubsub:
            # Subscribe before reading what was missed, so that no event is lost in between.
            await pubsub.subscribe(channel_of(organization_id))
            missed = await _missed(organization_id, last_event_id)
            yield _event({"type": "ready", "id": 0, "missed": len(missed)}, retry=RETRY_MS)
            for item in missed:
                yield _event(item)
            while time.monotonic() < ends and not await request.is_disconnected():
                arrived = await _arrived(pubsub)
                if not arrived and time.monotonic() < check_at:
                    continue
                if not await _may_listen(request):
                    break  # the client reconnects and is refused
                if place is not None:
                    await asyncio.to_thread(place.renew)
                check_at = time.monotonic() + CHECK_S
                for data in arrived:
                    yield _event(data)
    except (ValkeyError, OSError, SQLAlchemyError):
        # Not the client's error: it reconnects after `retry`.
        yield _event({"type": "reconnect", "id": 0}, retry=RETRY_MS)
    finally:
        if place is not None:
            with suppress(ValkeyError, OSError):
                place.free()  # not in a thread: if the client has left, the first await ends this block
        await client.aclose()


async def _arrived(pubsub: PubSub) -> list[Mapping[str, object]]:
    """The next event, waited for up to a second, and those that have arrived after it."""
    found: list[Mapping[str, object]] = []
    message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=1.0)
    while message is not None:
        found.append(json.loads(message["data"]))
        if len(found) == _MOST_AT_ONCE:
            break
        message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=0.0)
    return found


async def _may_listen(request: Request) -> bool:
    """Whether the session or token is still valid and may read incidents."""
    credential = f"{request.headers.get('authorization', '')}\n{request.cookies.get(COOKIE, '')}"
    loop = asyncio.get_running_loop()
    return await _access.of(loop).allowed(credential, loop.time(), lambda: _may(request))


def _may(request: Request) -> bool:
    try:
        return caller_of(request).can("incidents:read")
    except Problem:
        return False


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
