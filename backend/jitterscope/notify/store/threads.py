"""Messages at receivers that can be changed, in the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope.notify.models import ChannelRow, DeliveryRow, ThreadRow


def add(
    session: Session,
    organization_id: int,
    delivery: DeliveryRow,
    reference: dict[str, Any],
    wanted: dict[str, Any] | None,
) -> None:
    """Remember the message that a delivery made at its receiver; `wanted`: what it should show instead."""
    session.execute(
        insert(ThreadRow)
        .values(
            organization_id=organization_id,
            channel_id=delivery.channel_id,
            incident_id=delivery.incident_id,
            reference=reference,
            wanted=wanted,
        )
        .on_conflict_do_nothing()
    )


def want(session: Session, incident_id: int, kinds: Sequence[str], shown: dict[str, Any]) -> bool:
    """Ask enabled channels of these kinds to change their message about an incident; False if there is none."""
    found = session.execute(
        update(ThreadRow)
        .where(
            ThreadRow.incident_id == incident_id,
            ThreadRow.channel_id.in_(select(ChannelRow.id).where(ChannelRow.kind.in_(kinds), ChannelRow.enabled)),
        )
        .values(wanted=shown, attempts=0)
        .returning(ThreadRow.channel_id)
    ).all()
    return bool(found)


def any_due(session: Session) -> bool:
    """Whether a message of the organization shows an outdated state."""
    return bool(session.scalar(select(exists().where(ThreadRow.wanted.is_not(None), _is_due()))))


def due(session: Session, limit: int) -> list[tuple[ThreadRow, ChannelRow]]:
    """Outdated messages of enabled channels, locked; those that another worker has locked are skipped."""
    query = (
        select(ThreadRow, ChannelRow)
        .join(ChannelRow, ChannelRow.id == ThreadRow.channel_id)
        .where(ThreadRow.wanted.is_not(None), _is_due(), ChannelRow.enabled)
        .order_by(ThreadRow.next_attempt_at)
        .limit(limit)
        .with_for_update(of=ThreadRow, skip_locked=True)
    )
    return [(row, channel) for row, channel in session.execute(query)]


def _is_due() -> ColumnElement[bool]:
    return ThreadRow.next_attempt_at <= func.clock_timestamp()
