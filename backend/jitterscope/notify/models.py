"""Tables of notification channels, the outbox, its attempts, and the threads that updates go to."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, DateTime, ForeignKey, Identity, Integer, LargeBinary, Text, func
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class ChannelRow(Base):
    """Where notifications go. `config_sealed` is the encrypted JSON of the kind's config; it holds secrets."""

    __tablename__ = "channels"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    enabled: Mapped[bool] = mapped_column(Boolean, default=True)
    min_severity: Mapped[str] = mapped_column(Text)
    actions: Mapped[list[str]] = mapped_column(ARRAY(Text))
    # conditions.Conditions, quiet_hours.QuietHours
    conditions: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    quiet_hours: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    config_sealed: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


class DeliveryRow(Base):
    """One transition for one channel: the outbox. States: pending, sending, sent, dead, skipped.

    `held_until`: waits for the end of quiet hours, and is skipped if there is nothing left to say by then. `held_back`:
    it is sent as the summary of this many messages that were held back, itself included (held_back.py). `key` lets
    receivers recognize a repeated delivery. While `sending`, `journal_id` names the host journal that records the
    attempt's outcome (see courier.py).
    """

    __tablename__ = "deliveries"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    channel_id: Mapped[int] = mapped_column(ForeignKey("channels.id", ondelete="CASCADE"))
    incident_id: Mapped[int] = mapped_column(BigInteger)
    transition_id: Mapped[int] = mapped_column(BigInteger)
    key: Mapped[str] = mapped_column(Text)
    payload: Mapped[dict[str, Any]] = mapped_column(JSONB)
    state: Mapped[str] = mapped_column(Text, default="pending")
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    next_attempt_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    held_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    held_back: Mapped[int | None] = mapped_column(Integer)
    claimed_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    journal_id: Mapped[str | None] = mapped_column(Text)
    last_status: Mapped[int | None] = mapped_column(Integer)
    last_error: Mapped[str | None] = mapped_column(Text)
    # An earlier attempt had an unknown outcome: the receiver may already know this key.
    maybe_sent: Mapped[bool] = mapped_column(Boolean, default=False)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    sent_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class ThreadRow(Base):
    """A channel's reference to the first message of an incident (Slack: `channel ts`), so that updates join it.

    `wanted`: the payload that the message should show, None if it already does. Showing it twice changes nothing.
    """

    __tablename__ = "channel_threads"

    organization_id: Mapped[int] = mapped_column(BigInteger)
    channel_id: Mapped[int] = mapped_column(ForeignKey("channels.id", ondelete="CASCADE"), primary_key=True)
    incident_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    reference: Mapped[dict[str, Any]] = mapped_column(JSONB)
    wanted: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    next_attempt_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())


class SlackPressRow(Base):
    """A Slack request that was handled, by the hash of its signature: it must not be handled again."""

    __tablename__ = "slack_presses"

    organization_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
