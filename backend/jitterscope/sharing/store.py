"""Shared links in the database."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, func, or_, select, text, update
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.sharing.models import SharedLinkRow, SharingPolicyRow


def links_allowed(session: Session) -> bool:
    """Whether the session's organization lets its members share incidents by link."""
    found = session.scalar(select(SharingPolicyRow.links_allowed))
    return True if found is None else found


def links(session: Session, *, incident_id: int | None, before_id: int | None, limit: int) -> list[SharedLinkRow]:
    """Links of the session's organization, newest first, ended ones too."""
    query = select(SharedLinkRow).order_by(SharedLinkRow.id.desc()).limit(limit)
    if incident_id is not None:
        query = query.where(SharedLinkRow.incident_id == incident_id)
    if before_id is not None:
        query = query.where(SharedLinkRow.id < before_id)
    return list(session.scalars(query))


def with_hash(digest: bytes) -> Row[Any] | None:
    """The link with a secret, of any organization, with what decides whether it works; None if there is none."""
    with db.lookup_connection() as connection:
        return connection.execute(text("SELECT * FROM auth_shared_link(:hash)"), {"hash": digest}).one_or_none()


def days_from_now(days: int, latest: datetime | None) -> ColumnElement[datetime]:
    """A time in some days by the database's clock, or `latest` if that is earlier."""
    wanted: ColumnElement[datetime] = func.now() + timedelta(days=days)
    return wanted if latest is None else func.least(wanted, latest)


def note_use(session: Session, link_id: int, every: timedelta) -> None:
    """Set the time of a link's last use, unless the stored one is younger than `every`."""
    used = SharedLinkRow.last_used_at
    session.execute(
        update(SharedLinkRow)
        .where(SharedLinkRow.id == link_id, or_(used.is_(None), used < func.now() - every))
        .values(last_used_at=func.now())
        .execution_options(synchronize_session=False)
    )
