"""Tables of resources, facts, and collectors."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Text
from sqlalchemy.dialects.postgresql import BYTEA, TIMESTAMP
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class Resource(Base):
    """`node_id` is 0 for a node itself and for external resources."""

    __tablename__ = "resources"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(Text)
    key: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    node_id: Mapped[int] = mapped_column(BigInteger)
    parent_id: Mapped[int | None] = mapped_column(BigInteger)
    first_seen_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))
    last_seen_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))
    throttled_at: Mapped[datetime | None] = mapped_column(TIMESTAMP(timezone=True))


class Fact(Base):
    """In effect from `since_us` until the next row of the same resource and name."""

    __tablename__ = "facts"
    organization_id: Mapped[int] = mapped_column(BigInteger)
    resource_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    name: Mapped[str] = mapped_column(Text, primary_key=True)
    since_us: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class Collector(Base):
    """The collector of a node, as of its newest batch."""

    __tablename__ = "collectors"
    node_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[str] = mapped_column(Text)
    spool_id: Mapped[bytes] = mapped_column(BYTEA)
    first_seen_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))
    last_seen_at: Mapped[datetime] = mapped_column(TIMESTAMP(timezone=True))
    sealed_at_us: Mapped[int] = mapped_column(BigInteger)
    delay_us: Mapped[int] = mapped_column(BigInteger)
    batches: Mapped[int] = mapped_column(BigInteger)
    dropped_batches: Mapped[int] = mapped_column(BigInteger)
