"""Tables of shared links, of whether an organization allows them, and of edited post-mortems."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Boolean, DateTime, ForeignKey, Identity, Integer, LargeBinary, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base
from jitterscope.policies import Policy


class SharedLinkRow(Base):
    """A link to one incident. It ends with its owner's membership and with the API token that created it.

    `hint` is the last four characters of its secret, of which only a hash is stored.
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


class SharingPolicyRow(Policy, Base):
    """Whether the links of an organization work; without a row they do."""

    __tablename__ = "sharing_policies"

    links_allowed: Mapped[bool] = mapped_column(Boolean)


class PostMortemRow(Base):
    """The post-mortem of an incident as members edited it. `version` counts from 1 with each edit."""

    __tablename__ = "post_mortems"

    incident_id: Mapped[int] = mapped_column(ForeignKey("incidents.id", ondelete="CASCADE"), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int] = mapped_column(Integer)
    content: Mapped[str] = mapped_column(Text)
    edited_by: Mapped[str] = mapped_column(Text)
    edited_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
