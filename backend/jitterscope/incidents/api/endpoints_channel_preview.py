"""What a notification channel would have sent in the last week. Part of the channels API, but built from incidents."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field

from jitterscope.bounds import CHART, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.finding import Severity
from jitterscope.incidents.api import last_week
from jitterscope.incidents.models import IncidentRow
from jitterscope.kit.declared import not_audited
from jitterscope.kit.schema import Schema
from jitterscope.notify.outbox import rule_of
from jitterscope.notify.payload import Action
from jitterscope.notify.rules import Message, replay
from jitterscope.notify.schemas import ChannelFilter
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/channels", tags=["channels"])
# A caller that may see channels but not incidents must not learn about them here.
Reader = Annotated[Principal, Depends(require("incidents:read"))]

# How many of the messages are listed.
LISTED = 20


class ChannelPreviewRequest(ChannelFilter):
    """The settings of a channel that decide what it would have sent."""

    kind: str | None = Field(default=None, max_length=40, description="Some kinds cannot send some actions")


class PreviewMessage(Schema):
    incident_id: int
    title: str
    action: Action
    severity: Severity
    at: datetime
    held_until: datetime | None = Field(description="When it would have been sent, after quiet hours")


class ChannelPreview(Schema):
    """As if the channel had been added at `since`: 7 days ago or, if `complete` is false, at the first of the last
    5,000 changes of incidents. Of older changes only the present state of their incident is known."""

    since: datetime
    complete: bool
    messages: int
    incidents: int
    held: int = Field(description="Messages that quiet hours would have delayed")
    by_action: dict[str, int]
    last: list[PreviewMessage] = Field(description="The last 20 messages, newest first")


@router.post("/preview", dependencies=[not_audited("replays what is stored; changes and sends nothing")])
@bounded(CHART)
def preview_channel(principal: Reader, request: ChannelPreviewRequest) -> ChannelPreview:
    """What a channel with these settings would have sent in the last 7 days."""
    rule = rule_of(request.kind or "", request.min_severity, request.actions, request.conditions, request.quiet_hours)
    with organization_session(principal.organization_id) as session:
        week = last_week.load(session)
        sent = replay(rule, week.events)
        return ChannelPreview(
            since=week.since,
            complete=week.complete,
            messages=len(sent),
            incidents=len({one.event.incident_id for one in sent}),
            held=sum(one.held_until is not None for one in sent),
            by_action=dict(Counter(one.event.action for one in sent).most_common()),
            last=[_listed(one, week.incidents[one.event.incident_id]) for one in reversed(sent[-LISTED:])],
        )


def _listed(message: Message, incident: IncidentRow) -> PreviewMessage:
    event = message.event
    return PreviewMessage(
        incident_id=event.incident_id,
        title=incident.title,
        action=event.action,
        severity=event.severity,
        at=event.at,
        held_until=message.held_until,
    )
