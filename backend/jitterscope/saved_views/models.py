"""The table of saved views."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, DateTime, Identity, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class SavedViewRow(Base):
    """A page with its parameters. It is deleted with its owner's membership; `shared`: every member sees it."""

    __tablename__ = "saved_views"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    owner_id: Mapped[int] = mapped_column(BigInteger)
    page: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    search: Mapped[str] = mapped_column(Text)
    shared: Mapped[bool] = mapped_column(Boolean)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
