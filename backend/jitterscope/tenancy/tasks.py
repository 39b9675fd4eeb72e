"""Housekeeping: deletes ended sessions and old invitations."""

from __future__ import annotations

from sqlalchemy import text

from jitterscope import db
from jitterscope.worker import periodic


@periodic(seconds=3600)
def expire_sessions() -> None:
    """Delete what has ended."""
    with db.system_session() as session:
        session.execute(text("SELECT auth_expire()"))
