"""The outbox: each transition becomes one row per channel, in the transaction that makes the transition."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.db import after_commit
from jitterscope.notify.models import ChannelRow, DeliveryRow
from jitterscope.notify.payload import Payload

_SEVERITIES = ("info", "warning", "critical")


def enqueue(session: Session, payload: Payload) -> int:
    """Queue a transition for every channel that wants it; how many. Queuing the same transition again adds nothing."""
    organization_id: int = session.info["organization_id"]
    wanted = _SEVERITIES[: _SEVERITIES.index(payload.incident.severity) + 1]
    channels = session.scalars(
        select(ChannelRow.id).where(
            ChannelRow.enabled,
            ChannelRow.min_severity.in_(wanted),
            ChannelRow.actions.contains([payload.transition.action]),
        )
    ).all()
    if not channels:
        return 0
    content = payload.model_dump(mode="json")
    session.execute(
        insert(DeliveryRow)
        .values(
            [
                {
                    "organization_id": organization_id,
                    "channel_id": channel_id,
                    "incident_id": payload.incident.id,
                    "transition_id": payload.transition.id,
                    "key": uuid.uuid4().hex,
                    "payload": content,
                    "state": "pending",
                    "attempts": 0,
                    "maybe_sent": False,
                }
                for channel_id in channels
            ]
        )
        .on_conflict_do_nothing(index_elements=["transition_id", "channel_id"])
    )
    # Losing this message costs seconds: the sweep finds the rows.
    after_commit(session, lambda: worker.send("notify.deliver", organization_id=organization_id))
    return len(channels)


def sent_at(session: Session, incident_id: int) -> list[datetime]:
    """When receivers had taken a notification of an incident, the first channel of each transition; oldest first."""
    taken = (
        select(func.min(DeliveryRow.sent_at).label("at"))
        .where(DeliveryRow.incident_id == incident_id, DeliveryRow.sent_at.is_not(None))
        .group_by(DeliveryRow.transition_id)
        .subquery()
    )
    return list(session.scalars(select(taken.c.at).order_by(taken.c.at)))
