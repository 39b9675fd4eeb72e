"""Saved views of the session's organization."""

from __future__ import annotations

from sqlalchemy import func, or_, select, text
from sqlalchemy.orm import Session

from jitterscope.errors import Problem, not_found
from jitterscope.saved_views.models import SavedViewRow

_MOST_OF_MEMBER = 200


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


def visible(session: Session, user_id: int | None, view_id: int) -> SavedViewRow:
    """A view that the member sees, locked. Raises Problem 404."""
    seen = or_(SavedViewRow.shared, SavedViewRow.owner_id == user_id)
    row = session.scalar(select(SavedViewRow).where(SavedViewRow.id == view_id, seen).with_for_update())
    if row is None:
        raise not_found("view", view_id)
    return row


def create(session: Session, row: SavedViewRow) -> SavedViewRow:
    """Save a view. Raises Problem 409 if its owner has as many as a member can have."""
    # Two concurrent ones: the second waits and sees the first.
    lock = text("SELECT pg_advisory_xact_lock(hashtextextended('saved_views', :owner))")
    session.execute(lock, {"owner": row.owner_id})
    own = session.scalar(select(func.count()).where(SavedViewRow.owner_id == row.owner_id)) or 0
    if own >= _MOST_OF_MEMBER:
        raise Problem(
            409, "too-many-views", "Too many views", f"A member can save {_MOST_OF_MEMBER} views.",
            "Delete one that is not needed.",
        )  # fmt: skip
    session.add(row)
    session.flush()
    return row
