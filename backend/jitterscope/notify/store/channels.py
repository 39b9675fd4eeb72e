"""Channels in the database, and how their deliveries stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from jitterscope.notify.models import ChannelRow, DeliveryRow


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """Deliveries of a channel. `held_back` counts messages, the others deliveries."""

    pending: int = 0
    held: int = 0
    held_back: int = 0
    dead: int = 0
    last_sent_at: datetime | None = None


def count(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(ChannelRow)) or 0


def kind_of(session: Session, channel_id: int) -> str | None:
    return session.scalar(select(ChannelRow.kind).where(ChannelRow.id == channel_id))


def listed(session: Session) -> list[ChannelRow]:
    """All channels, oldest first; there are few."""
    return list(session.scalars(select(ChannelRow).order_by(ChannelRow.id)))


def enabled(session: Session) -> Sequence[Row[Any]]:
    """What decides which messages each enabled channel gets, oldest first."""
    return session.execute(
        select(
            ChannelRow.id, ChannelRow.kind, ChannelRow.min_severity, ChannelRow.actions, ChannelRow.conditions,
            ChannelRow.quiet_hours,
        ).where(ChannelRow.enabled).order_by(ChannelRow.id)
    ).all()  # fmt: skip


def delivery_counts(session: Session, channel_ids: Sequence[int]) -> dict[int, DeliveryCounts]:
    """How the deliveries of each channel stand; absent without any."""
    rows = session.execute(
        select(
            DeliveryRow.channel_id,
            func.count().filter(DeliveryRow.state.in_(("pending", "sending"))),
            func.count().filter(DeliveryRow.state == "pending", DeliveryRow.held_until > func.clock_timestamp()),
            func.coalesce(func.sum(DeliveryRow.held_back).filter(DeliveryRow.state.in_(("pending", "sending"))), 0),
            func.count().filter(DeliveryRow.state == "dead"),
            func.max(DeliveryRow.sent_at),
        )
        .where(DeliveryRow.channel_id.in_(channel_ids))
        .group_by(DeliveryRow.channel_id)
    )
    return {row[0]: DeliveryCounts(row[1], row[2], row[3] or 0, row[4], row[5]) for row in rows}


def last_errors(session: Session, channel_ids: Sequence[int]) -> dict[int, str | None]:
    """The error of each channel's newest delivery that was tried; None if it had none."""
    newest = session.execute(
        select(DeliveryRow.channel_id, DeliveryRow.last_error)
        .ext(distinct_on(DeliveryRow.channel_id))
        .where(DeliveryRow.channel_id.in_(channel_ids), DeliveryRow.attempts > 0)
        .order_by(DeliveryRow.channel_id, DeliveryRow.id.desc())
    )
    return {row.channel_id: row.last_error for row in newest}
