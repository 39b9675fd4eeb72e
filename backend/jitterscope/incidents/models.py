"""Tables of incidents: what users see, its history, and risks.

Times are data times (when it happened on the node), except `created_at`, `opened_at`, and `at` (when we wrote it).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    ColumnElement,
    DateTime,
    ForeignKey,
    Identity,
    Integer,
    Text,
    case,
    cast,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base
from jitterscope.diagnosis.core.finding import SEVERITIES


class Subject:
    """Columns that describe a resource as it was last seen, so that a list needs no other domain's tables."""

    subject_id: Mapped[int] = mapped_column(BigInteger)
    subject_kind: Mapped[str] = mapped_column(Text)
    subject_key: Mapped[str] = mapped_column(Text)
    subject_name: Mapped[str] = mapped_column(Text)
    subject_node: Mapped[str] = mapped_column(Text)


class IncidentRow(Subject, Base):
    """One fault of one subject. `finding` is the Found of the strongest window, [window_from, window_to)."""

    __tablename__ = "incidents"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    cause: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    severity: Mapped[str] = mapped_column(Text)
    confidence: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    muted: Mapped[bool] = mapped_column(Boolean, default=False)
    # Only with muted: None means until unmuted.
    muted_until: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    # What mutes it: {"id", "by", "reason", "only_this": it applies to this incident alone, "recurs"}.
    mute: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    onset_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    opened_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    last_seen_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    resolved_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    trigger_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    window_from: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    window_to: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    occurrences: Mapped[int] = mapped_column(Integer, default=1)
    pinned: Mapped[bool] = mapped_column(Boolean, default=False)
    finding: Mapped[dict[str, Any]] = mapped_column(JSONB)
    # Fix id → {"at", "figures"}: what each fix was predicted to do while the incident was open.
    predictions: Mapped[dict[str, Any]] = mapped_column(JSONB, default=dict)
    # Changes of settings after this (data time) are fixes to verify.
    baseline_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    # The cgroup that replaced the subject after a rollout; the evidence is still about the old one.
    successor_id: Mapped[int | None] = mapped_column(BigInteger)
    # Other subjects that were affected at the same time: SubjectRef, first_us, last_us, impact.
    also_affected: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list)
    not_enough_data: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())

    @property
    def lives_on(self) -> int:
        """The resource where the fault is now looked for."""
        return self.subject_id if self.successor_id is None else self.successor_id


severity_rank = case({name: rank for rank, name in enumerate(SEVERITIES)}, value=IncidentRow.severity)
# IncidentRow.lives_on in SQL.
lives_on: ColumnElement[int] = func.coalesce(IncidentRow.successor_id, IncidentRow.subject_id)
# Each resource that IncidentRow.also_affected lists, in SQL.
reached_ids: ColumnElement[int] = cast(
    func.jsonb_path_query(IncidentRow.also_affected, cast("$[*].resource_id", JSONPATH)), BigInteger
)


class TransitionRow(Base):
    """One entry of an incident's history. Its id orders live events and is what a client resumes from."""

    __tablename__ = "incident_transitions"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incidents.id", ondelete="CASCADE"))
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    actor: Mapped[str] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    # The author of a note can edit its text; a note without text was deleted.
    detail: Mapped[str | None] = mapped_column(Text)
    author_id: Mapped[int | None] = mapped_column(BigInteger)
    edited_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    # The incident after the transition, as notification rules see it. None: written before rules existed.
    severity: Mapped[str | None] = mapped_column(Text)
    cause: Mapped[str | None] = mapped_column(Text)
    muted: Mapped[bool | None] = mapped_column(Boolean)


class RiskRow(Subject, Base):
    """A finding without harm; one row per organization, subject, and cause."""

    __tablename__ = "risks"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    cause: Mapped[str] = mapped_column(Text)
    first_seen_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    last_seen_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    finding: Mapped[dict[str, Any]] = mapped_column(JSONB)
