"""What a notification channel would have sent in the last week. It belongs to channels, and is told of incidents."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session, load_only

from jitterscope.bounds import CHART, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core.finding import Severity
from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.models import IncidentRow, TransitionRow
from jitterscope.kit.declared import not_audited
from jitterscope.kit.schema import Schema
from jitterscope.notify.outbox import rule_of
from jitterscope.notify.payload import ACTIONS, Action
from jitterscope.notify.rules import Event, Message, replay
from jitterscope.notify.schemas import ChannelFilter
from jitterscope.tenancy.auth import Principal, require

router = APIRouter(prefix="/channels", tags=["channels"])
# Who may see channels but no incidents must not learn of them here.
Reader = Annotated[Principal, Depends(require("incidents:read"))]

DAYS = 7
# The newest changes of incidents that are looked at, and the messages that are listed.
MOST_CHANGES, LISTED = 5000, 20


class ChannelPreviewRequest(ChannelFilter):
    """A channel that does not exist yet, as far as it matters."""

    kind: str | None = Field(default=None, max_length=40, description="Some kinds have no words for some actions")


class PreviewMessage(Schema):
    incident_id: int
    title: str
    action: Action
    severity: Severity
    at: datetime
    held_until: datetime | None = Field(description="When it would have been sent, after quiet hours")


class ChannelPreview(Schema):
    """As if the channel had been added at `since`: seven days ago, or where `complete` is false at the first of the
    last 5,000 changes of incidents. Older changes know no more than what their incident is now."""

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
    """What a channel like this would have sent in the last seven days."""
    rule = rule_of(request.kind or "", request.min_severity, request.actions, request.conditions, request.quiet_hours)
    week_ago = datetime.now(UTC) - timedelta(days=DAYS)
    with organization_session(principal.organization_id) as session:
        changes, complete = _changes(session, week_ago)
        incidents = _incidents(session, changes)
        sent = replay(rule, _events(session, changes, incidents))
        return ChannelPreview(
            since=week_ago if complete or not changes else changes[0].at,
            complete=complete,
            messages=len(sent),
            incidents=len({one.event.incident_id for one in sent}),
            held=sum(one.held_until is not None for one in sent),
            by_action=dict(Counter(one.event.action for one in sent).most_common()),
            last=[_listed(one, incidents[one.event.incident_id]) for one in reversed(sent[-LISTED:])],
        )


def _changes(session: Session, since: datetime) -> tuple[list[TransitionRow], bool]:
    """The newest changes, oldest first, and whether they are all since then."""
    newest = session.scalars(select(TransitionRow).order_by(TransitionRow.id.desc()).limit(MOST_CHANGES + 1)).all()
    recent = [row for row in newest if row.at >= since]
    complete = len(recent) <= MOST_CHANGES
    return recent[:MOST_CHANGES][::-1], complete


def _incidents(session: Session, changes: list[TransitionRow]) -> dict[int, IncidentRow]:
    columns = (
        IncidentRow.id, IncidentRow.title, IncidentRow.severity, IncidentRow.cause, IncidentRow.subject_id,
        IncidentRow.subject_kind, IncidentRow.subject_key, IncidentRow.subject_name, IncidentRow.subject_node,
        IncidentRow.also_affected,
    )  # fmt: skip
    wanted = {row.incident_id for row in changes}
    rows = session.scalars(select(IncidentRow).where(IncidentRow.id.in_(wanted)).options(load_only(*columns)))
    return {row.id: row for row in rows}


def _events(
    session: Session, changes: list[TransitionRow], incidents: dict[int, IncidentRow]
) -> list[tuple[Event, bool]]:
    reached = {one: reach.places for one, reach in reach_of(session, list(incidents.values())).items()}
    return [
        (
            Event(
                incident_id=change.incident_id,
                action=change.action,  # type: ignore[arg-type]  # replay() leaves what no rule can ask for
                at=change.at,
                severity=change.severity or incidents[change.incident_id].severity,  # type: ignore[arg-type]
                cause=change.cause or incidents[change.incident_id].cause,
                places=reached[change.incident_id],
            ),
            bool(change.muted),
        )
        for change in changes
        if change.action in ACTIONS or change.muted
    ]


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
