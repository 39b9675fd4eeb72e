"""Time partitions in the database."""

from __future__ import annotations

from sqlalchemy import text

from jitterscope import db


def create(from_us: int, to_us: int) -> None:
    """Create the partitions of a time, in a transaction of its own: it releases the locks."""
    with db.system_session() as session:
        session.execute(text("SELECT ensure_time_partitions(:from_us, :to_us)"), {"from_us": from_us, "to_us": to_us})


def drop_empty(before_us: int) -> int:
    """Drop empty partitions that ended before a time; returns how many."""
    with db.system_session() as session:
        dropped: int = session.execute(
            text("SELECT drop_empty_time_partitions(:before)"), {"before": before_us}
        ).scalar_one()
    return dropped
