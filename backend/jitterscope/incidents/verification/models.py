"""Tables of verifications and of how predictions turned out. Times are data times, except created/checked/finished."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, DateTime, Double, ForeignKey, Identity, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class VerificationRow(Base):
    """A change that was made to an incident's subject, measured before and after.

    `predicted` and `promised` are Intervals by measure id, `result` a VerificationResult, `changes` SettingSteps.
    `servers_ratio`: times as many servers share the load since the change.
    """

    __tablename__ = "verifications"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incidents.id", ondelete="CASCADE"))
    state: Mapped[str] = mapped_column(Text)
    started_by: Mapped[str] = mapped_column(Text)
    applied_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    fix_id: Mapped[str | None] = mapped_column(Text)
    fix_title: Mapped[str] = mapped_column(Text)
    changes: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list)
    before_subject_id: Mapped[int] = mapped_column(BigInteger)
    subject_id: Mapped[int] = mapped_column(BigInteger)
    subject_name: Mapped[str] = mapped_column(Text)
    before_from: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    before_to: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    servers_ratio: Mapped[float] = mapped_column(Double, default=1.0)
    predicted: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    promised: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    result: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    waiting_for: Mapped[str | None] = mapped_column(Text)
    verdict: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    checked_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class OutcomeRow(Base):
    """One predicted figure with its measured value; `predicted` is an Interval."""

    __tablename__ = "prediction_outcomes"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incidents.id", ondelete="CASCADE"))
    verification_id: Mapped[int] = mapped_column(ForeignKey("verifications.id", ondelete="CASCADE"))
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    subject_name: Mapped[str] = mapped_column(Text)
    fix_id: Mapped[str] = mapped_column(Text)
    metric: Mapped[str] = mapped_column(Text)
    predicted: Mapped[dict[str, Any]] = mapped_column(JSONB)
    measured: Mapped[float] = mapped_column(Double)
    before: Mapped[float | None] = mapped_column(Double)
    inside: Mapped[bool] = mapped_column(Boolean)
    error_ratio: Mapped[float] = mapped_column(Double)
