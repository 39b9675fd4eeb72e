"""Deliveries in the database, from when they are due until they are settled."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from jitterscope.notify.models import ChannelRow, DeliveryRow
from jitterscope.notify.schemas import DeliveryState


def sending(session: Session) -> Sequence[Row[int, int, str, str | None, datetime | None]]:
    """(id, attempt, key, journal, time of the claim) of all deliveries that were claimed and not settled."""
    return session.execute(
        select(
            DeliveryRow.id, DeliveryRow.attempts, DeliveryRow.key, DeliveryRow.journal_id, DeliveryRow.claimed_at
        ).where(DeliveryRow.state == "sending")
    ).all()


def due(session: Session, limit: int) -> list[tuple[DeliveryRow, ChannelRow]]:
    """Due deliveries of enabled channels, locked, oldest first; those that another worker has locked are skipped."""
    earlier = aliased(DeliveryRow)
    statement = (
        select(DeliveryRow, ChannelRow)
        .join(ChannelRow, ChannelRow.id == DeliveryRow.channel_id)
        .where(
            DeliveryRow.state == "pending",
            DeliveryRow.next_attempt_at <= func.clock_timestamp(),
            ChannelRow.enabled,
            # An update is sent only after the message that it updates.
            ~exists().where(
                earlier.channel_id == DeliveryRow.channel_id,
                earlier.incident_id == DeliveryRow.incident_id,
                earlier.id < DeliveryRow.id,
                earlier.state.in_(("pending", "sending")),
                earlier.held_back.is_(None),
            ),
        )
        .order_by(DeliveryRow.id)
        .limit(limit)
        .with_for_update(of=DeliveryRow, skip_locked=True)
    )
    return [(row, channel) for row, channel in session.execute(statement)]


def any_due(session: Session) -> bool:
    """Whether a delivery is due, or was claimed and not settled."""
    return bool(
        session.scalar(
            select(
                exists().where(
                    or_(
                        DeliveryRow.state == "sending",
                        (DeliveryRow.state == "pending") & (DeliveryRow.next_attempt_at <= func.clock_timestamp()),
                    )
                )
            )
        )
    )


def summary(session: Session, channel_id: int) -> DeliveryRow | None:
    """The pending message that tells how many others a channel held back, locked."""
    return session.scalar(
        select(DeliveryRow)
        .where(
            DeliveryRow.channel_id == channel_id,
            DeliveryRow.state == "pending",
            DeliveryRow.attempts == 0,
            DeliveryRow.held_back.is_not(None),
        )
        .with_for_update()
    )


def locked(session: Session, delivery_id: int) -> DeliveryRow | None:
    return session.scalar(select(DeliveryRow).where(DeliveryRow.id == delivery_id).with_for_update())


def of_channel(session: Session, channel_id: int, delivery_id: int) -> DeliveryRow | None:
    """A delivery of the channel, locked."""
    return session.scalar(
        select(DeliveryRow).where(DeliveryRow.id == delivery_id, DeliveryRow.channel_id == channel_id).with_for_update()
    )


def listed(
    session: Session, channel_id: int, state: DeliveryState | None, before_id: int | None, limit: int
) -> Sequence[DeliveryRow]:
    """Deliveries of a channel, newest first."""
    query = select(DeliveryRow).where(DeliveryRow.channel_id == channel_id)
    if state is not None:
        query = query.where(DeliveryRow.state == state)
    if before_id is not None:
        query = query.where(DeliveryRow.id < before_id)
    return session.scalars(query.order_by(DeliveryRow.id.desc()).limit(limit)).all()


def newest_payload_after(session: Session, row: DeliveryRow) -> dict[str, Any] | None:
    """What the newest later delivery to the same channel says of the incident."""
    query = select(DeliveryRow.payload).where(
        DeliveryRow.channel_id == row.channel_id,
        DeliveryRow.incident_id == row.incident_id,
        DeliveryRow.transition_id > row.transition_id,
    )
    return session.scalar(query.order_by(DeliveryRow.transition_id.desc()).limit(1))
