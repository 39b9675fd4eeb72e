"""Tables of repositories and of the pull requests that were opened in them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, ForeignKey, Identity, Integer, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from jitterscope.db import Base


class RepositoryRow(Base):
    """A repository with workload files. `token_sealed` is encrypted; `files` are schemas.RepositoryFile."""

    __tablename__ = "repositories"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(Text)
    url: Mapped[str] = mapped_column(Text)
    repository: Mapped[str] = mapped_column(Text)
    base_branch: Mapped[str] = mapped_column(Text)
    files: Mapped[list[dict[str, Any]]] = mapped_column(JSONB, default=list)
    token_sealed: Mapped[str] = mapped_column(Text)
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())


class PullRequestRow(Base):
    """A pull request for one fix of one incident. States: opening, open, merged, closed.

    `kind` and `repository` keep their values if the repository is changed or removed (`repository_id` None).
    """

    __tablename__ = "pull_requests"

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    organization_id: Mapped[int] = mapped_column(BigInteger)
    incident_id: Mapped[int] = mapped_column(ForeignKey("incidents.id", ondelete="CASCADE"))
    repository_id: Mapped[int | None] = mapped_column(ForeignKey("repositories.id", ondelete="SET NULL"))
    fix_id: Mapped[str] = mapped_column(Text)
    fix_title: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    repository: Mapped[str] = mapped_column(Text)
    branch: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    number: Mapped[int | None] = mapped_column(BigInteger)
    url: Mapped[str | None] = mapped_column(Text)
    opened_by: Mapped[str] = mapped_column(Text)
    opened_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    merged_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    checked_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    next_check_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    last_error: Mapped[str | None] = mapped_column(Text)
    told_verification_id: Mapped[int | None] = mapped_column(BigInteger)
    comment_url: Mapped[str | None] = mapped_column(Text)
    comment_attempts: Mapped[int] = mapped_column(Integer, default=0)
    reminded_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
