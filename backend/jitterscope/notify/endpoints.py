"""Channels and their deliveries. Reading needs channels:read, changing channels:write; secrets are never returned."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from jitterscope import worker
from jitterscope.answers import refuses
from jitterscope.audit import service as audit
from jitterscope.bounds import QUICK, REMOTE, bounded
from jitterscope.db import after_commit, organization_session
from jitterscope.errors import Problem, not_found
from jitterscope.kit import cursor as cursors
from jitterscope.kit.declared import audited
from jitterscope.kit.schema import Page
from jitterscope.notify import channels_service as service
from jitterscope.notify.kind import MailRequest, kinds
from jitterscope.notify.models import DeliveryRow
from jitterscope.notify.sample import sample_request, send_sample
from jitterscope.notify.schemas import (
    Channel,
    ChannelCreate,
    ChannelKindInfo,
    ChannelTestResult,
    ChannelUpdate,
    Delivery,
    DeliveryState,
)
from jitterscope.notify.store import channels, deliveries
from jitterscope.paging import one_position, unpaged
from jitterscope.tenancy import mail_limits
from jitterscope.tenancy.attempts import per_minute
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/channels", tags=["channels"])
Reader = Annotated[Principal, Depends(require("channels:read"))]
Writer = Annotated[Principal, Depends(require("channels:write"))]
_TESTS_PER_MINUTE = 20


@router.get("/kinds")
@bounded(QUICK)
@unpaged("Kinds are code.")
def list_channel_kinds(_principal: Reader) -> list[ChannelKindInfo]:
    """The kinds of channels, and the configuration that each takes."""
    return [
        ChannelKindInfo(
            kind=kind.kind,
            title=kind.title,
            config_schema=kind.config_model.model_json_schema(),
            unavailable=kind.unavailable(),
            silent_actions=sorted(kind.silent),
        )
        for kind in kinds().values()
    ]


@router.get("")
@bounded(QUICK)
@unpaged(f"An organization has at most {service.MOST} channels.")
def list_channels(principal: Reader) -> list[Channel]:
    """All channels of the organization."""
    with organization_session(principal.organization_id) as session:
        return service.views(session, channels.listed(session))


@router.post("", status_code=201, dependencies=[audited("channel.create")])
@bounded(QUICK)
@refuses(409, "The organization has as many channels as it can have.")
def create_channel(principal: Writer, request: ChannelCreate) -> Channel:
    """Add a channel. It is notified of transitions from now on."""
    with organization_session(principal.organization_id) as session:
        row = service.create_channel(session, request)
        audit.record(session, principal, "channel.create", f"channel {row.id}", {"kind": row.kind, "name": row.name})
        return service.views(session, [row])[0]


@router.get("/{channel_id}")
@bounded(QUICK)
def get_channel(principal: Reader, channel_id: int) -> Channel:
    """One channel."""
    with organization_session(principal.organization_id) as session:
        return service.views(session, [service.get_channel(session, channel_id)])[0]


@router.patch("/{channel_id}", dependencies=[audited("channel.update")])
@bounded(QUICK)
def update_channel(principal: Writer, channel_id: int, request: ChannelUpdate) -> Channel:
    """Change the given fields of a channel."""
    with organization_session(principal.organization_id) as session:
        row, changed = service.update_channel(session, channel_id, request)
        audit.record(session, principal, "channel.update", f"channel {row.id}", changed)
        return service.views(session, [row])[0]


@router.delete("/{channel_id}", status_code=204, dependencies=[audited("channel.delete")])
@bounded(QUICK)
def delete_channel(principal: Writer, channel_id: int) -> None:
    """Remove a channel and its deliveries; pending messages are not sent."""
    with organization_session(principal.organization_id) as session:
        row = service.get_channel(session, channel_id)
        audit.record(session, principal, "channel.delete", f"channel {row.id}", {"kind": row.kind, "name": row.name})
        session.delete(row)


@router.post("/{channel_id}/test", dependencies=[audited("channel.test")])
@bounded(REMOTE)
@refuses(409, "The stored configuration cannot be used.")
def test_channel(principal: Writer, channel_id: int) -> ChannelTestResult:
    """Send a test message now and return the receiver's answer. At most 20 a minute, and emails count as others do."""
    per_minute(_TESTS_PER_MINUTE, "channel tests", str(principal.organization_id)).take("channel tests")
    with organization_session(principal.organization_id) as session:
        row = service.get_channel(session, channel_id)
        audit.record(session, principal, "channel.test", f"channel {row.id}")
        session.expunge(row)
    began = time.perf_counter()
    try:
        request = sample_request(row, principal.actor)
        if isinstance(request, MailRequest):
            mail_limits.take(principal.organization_id, request.recipients)
        ok, status, detail = send_sample(row, request)
    except service.ChannelUnusable as error:
        raise Problem(
            409, "channel-unusable", "Channel cannot be used", str(error), "Set its configuration again."
        ) from error
    return ChannelTestResult(
        ok=ok, status=status, detail=detail, took_ms=round((time.perf_counter() - began) * 1000, 1)
    )


@router.get("/{channel_id}/deliveries")
@bounded(QUICK)
def list_deliveries(
    principal: Reader,
    channel_id: int,
    state: DeliveryState | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: str | None = None,
) -> Page[Delivery]:
    """Deliveries that were sent, are waiting, or were given up (`state=dead`), newest first."""
    before = one_position(cursor)
    with organization_session(principal.organization_id) as session:
        service.get_channel(session, channel_id)
        rows = deliveries.listed(session, channel_id, state, before, limit + 1)
        items = [_view(row) for row in rows[:limit]]
    return Page(items=items, next_cursor=cursors.encode(items[-1].id) if len(rows) > limit else None)


@router.post("/{channel_id}/deliveries/{delivery_id}/retry", status_code=202, dependencies=[audited("delivery.retry")])
@bounded(QUICK)
@refuses(409, "The delivery is not dead.")
def retry_delivery(principal: Writer, channel_id: int, delivery_id: int) -> Delivery:
    """Retry a dead delivery with the same key."""
    with organization_session(principal.organization_id) as session:
        row = deliveries.of_channel(session, channel_id, delivery_id)
        if row is None:
            raise not_found("delivery", delivery_id)
        if row.state != "dead":
            raise Problem(
                409, "not-dead", "Nothing to retry", f"The delivery is {row.state}.",
                "Only dead deliveries can be retried by hand. Pending ones retry automatically.",
            )  # fmt: skip
        service.revive(session, row)
        audit.record(session, principal, "delivery.retry", f"delivery {row.id}")
        organization_id = principal.organization_id
        after_commit(session, lambda: worker.send("notify.deliver", organization_id=organization_id))
        return _view(row)


def _view(row: DeliveryRow) -> Delivery:
    return Delivery.model_validate(
        {
            "id": row.id,
            "key": row.key,
            "type": row.payload.get("type", ""),
            "incident_id": row.incident_id,
            "transition_id": row.transition_id,
            "state": row.state,
            "attempts": row.attempts,
            "maybe_sent": row.maybe_sent,
            "next_attempt_at": row.next_attempt_at if row.state == "pending" else None,
            "held_until": row.held_until,
            "held_back": row.held_back,
            "last_status": row.last_status,
            "last_error": row.last_error,
            "created_at": row.created_at,
            "sent_at": row.sent_at,
        }
    )
