"""Saved views of the session's organization."""

from __future__ import annotations

from sqlalchemy import func, or_, select, text
from sqlalchemy.orm import Session

from jitterscope.saved_views.models import SavedViewRow


def listed(
    session: Session, user_id: int | None, page: str | None, before: int | None, limit: int
) -> list[SavedViewRow]:
    """Views that a member sees, newest first: private and shared ones."""
    statement = select(SavedViewRow).where(or_(SavedViewRow.shared, SavedViewRow.owner_id == user_id))
    if page is not None:
        statement = statement.where(SavedViewRow.page == page)
    if before is not None:
        statement = statement.where(SavedViewRow.id < before)
    return list(session.scalars(statement.order_by(SavedViewRow.id.desc()).limit(limit)))


def visible(session: Session, user_id: int | None, view_id: int) -> SavedViewRow | None:
    """A view that the member sees, locked."""
    seen = or_(SavedViewRow.shared, SavedViewRow.owner_id == user_id)
    return session.scalar(select(SavedViewRow).where(SavedViewRow.id == view_id, seen).with_for_update())


def lock_owner(session: Session, user_id: int) -> None:
    """Wait until no other request saves a view of the member; held until the end of the transaction."""
    lock = text("SELECT pg_advisory_xact_lock(hashtextextended('saved_views', :owner))")
    session.execute(lock, {"owner": user_id})


def count_owned(session: Session, user_id: int) -> int:
    return session.scalar(select(func.count()).where(SavedViewRow.owner_id == user_id)) or 0
