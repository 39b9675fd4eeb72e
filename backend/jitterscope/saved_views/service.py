"""Saved views of the session's organization, for its members."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.errors import Problem, not_found
from jitterscope.saved_views import store
from jitterscope.saved_views.models import SavedViewRow

_MOST_OF_MEMBER = 200


def visible(session: Session, user_id: int | None, view_id: int) -> SavedViewRow:
    """A view that the member sees, locked. Raises Problem 404."""
    row = store.visible(session, user_id, view_id)
    if row is None:
        raise not_found("view", view_id)
    return row


def create(session: Session, row: SavedViewRow) -> SavedViewRow:
    """Save a view. Raises Problem 409 if its owner has as many as a member can have."""
    # Two concurrent ones: the second waits and sees the first.
    store.lock_owner(session, row.owner_id)
    if store.count_owned(session, row.owner_id) >= _MOST_OF_MEMBER:
        raise Problem(
            409, "too-many-views", "Too many views", f"A member can save {_MOST_OF_MEMBER} views.",
            "Delete one that is not needed.",
        )  # fmt: skip
    session.add(row)
    session.flush()
    return row
