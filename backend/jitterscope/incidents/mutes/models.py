"""Table of mutes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, ForeignKey, Identity, Text, func
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class MuteRow(Base):
    """What must not notify, until when, and why. It is over once `ended_at` is set or `until` has passed.

    `severities`: empty matches all. `conditions` is notify.conditions.Conditions, `hours` quiet_hours.WeeklyHours: it
    mutes only in these. All that is given must match.
    """

    __tablename__ = "mutes"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    incident_id: Mapped[int | None] = mapped_column(ForeignKey("incidents.id", ondelete="CASCADE"))
    resource_id: Mapped[int | None] = mapped_column(BigInteger)
    severities: Mapped[list[str]] = mapped_column(ARRAY(Text), default=list)
    conditions: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    hours: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    reason: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    ended_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    ended_by: Mapped[str | None] = mapped_column(Text)
