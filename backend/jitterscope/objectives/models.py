"""Table of the objectives that users set."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, Float, Identity, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class ObjectiveRow(Base):
    """For a workload (workloads.py), or with a `port` for one of its servers; `port` 0: for all its servers."""

    __tablename__ = "objectives"
    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    workload: Mapped[str] = mapped_column(Text)
    port: Mapped[int] = mapped_column(Integer)
    quantile: Mapped[float] = mapped_column(Float)
    limit_us: Mapped[int] = mapped_column(BigInteger)
    set_by: Mapped[str] = mapped_column(Text)
    set_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
