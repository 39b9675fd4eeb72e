"""Table of what organizations switched off."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ARRAY, BigInteger, DateTime, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class CollectionPolicyRow(Base):
    """Ids of the switches that are off; without a row none is."""

    __tablename__ = "collection_policies"

    organization_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    sources_off: Mapped[list[str]] = mapped_column(ARRAY(Text))
    changed_by: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
