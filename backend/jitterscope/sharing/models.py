"""Tables of shared links and of whether an organization allows them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, DateTime, ForeignKey, Identity, LargeBinary, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class SharedLinkRow(Base):
    """A link to one incident. It ends with its owner's membership and with the API token that made it.

    `hint` is the last four characters of its secret, of which only a hash is kept.
    """

    __tablename__ = "shared_links"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incidents.id", ondelete="CASCADE"))
    token_hash: Mapped[bytes] = mapped_column(LargeBinary)
    hint: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str] = mapped_column(Text)
    owner_id: Mapped[int] = mapped_column(BigInteger)
    token_id: Mapped[int | None] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    expires_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
    revoked_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    last_used_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class SharingPolicyRow(Base):
    """Whether the links of an organization work; without a row they do."""

    __tablename__ = "sharing_policies"

    organization_id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    links_allowed: Mapped[bool] = mapped_column(Boolean)
    changed_by: Mapped[str] = mapped_column(Text)
    changed_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
