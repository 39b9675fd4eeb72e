"""Pressed buttons in the database: none acts twice."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, func
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from jitterscope.notify.models import SlackPressRow


def add(session: Session, digest: bytes, forget_after: timedelta) -> bool:
    """Remember a signed request, and forget old ones; False if it is known."""
    past = func.clock_timestamp() - forget_after
    session.execute(delete(SlackPressRow).where(SlackPressRow.at < past))
    noted = session.execute(
        insert(SlackPressRow)
        .values(organization_id=session.info["organization_id"], digest=digest)
        .on_conflict_do_nothing()
        .returning(SlackPressRow.digest)
    )
    return noted.first() is not None
