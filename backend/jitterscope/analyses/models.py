"""The table of analyses: what was uploaded, the progress of reading it, and the result."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, DateTime, Double, Identity, Integer, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, deferred, mapped_column

from jitterscope.db import Base


class AnalysisRow(Base):
    """One file, or one DNS load test. The file is EVIDENCE_FOLDER/ORGANIZATION/ID while `file_kept`.

    States: queued, running, done, failed. While running, `heartbeat_at` shows that a worker is still processing it.
    """

    __tablename__ = "analyses"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str] = mapped_column(Text)
    kind: Mapped[str | None] = mapped_column(Text)
    kind_title: Mapped[str | None] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    file_kept: Mapped[bool] = mapped_column(Boolean)
    file_expires_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    progress_ratio: Mapped[float] = mapped_column(Double, default=0.0)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    started_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    heartbeat_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    summary: Mapped[str | None] = mapped_column(Text)
    findings: Mapped[int] = mapped_column(Integer, default=0)
    # A Report; only loaded when it is shown.
    report: Mapped[dict[str, Any] | None] = deferred(mapped_column(JSONB))
    problem: Mapped[dict[str, Any] | None] = mapped_column(JSONB)
