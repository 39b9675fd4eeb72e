"""Time partitions: made ahead by a task, and on demand for data that come late or early."""

from __future__ import annotations

from sqlalchemy import text

from jitterscope import db
from jitterscope.kit.perobject import PerObject

DAY_US = 86_400_000_000

# Days that this process knows to have partitions.
_known_days: PerObject[set[int]] = PerObject(set)


def ensure(from_us: int, to_us: int) -> None:
    """Make sure that rows with start_us in [from_us, to_us] have a partition; cheap when this process knows it.

    Uses a transaction of its own, so that the locks of making one are gone before rows are written.
    """
    days = set(range(from_us // DAY_US, to_us // DAY_US + 1))
    known = _known_days.of(db.engine())
    if days <= known:
        return
    with db.system_session() as session:
        session.execute(text("SELECT ensure_time_partitions(:from_us, :to_us)"), {"from_us": from_us, "to_us": to_us})
    known |= days


def forget() -> None:
    """After partitions were dropped, or another database is used: ask the database again."""
    _known_days.of(db.engine()).clear()
