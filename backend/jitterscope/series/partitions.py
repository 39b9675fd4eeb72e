"""Time partitions: made ahead by a task, and on demand for data that come late or early."""

from __future__ import annotations

import threading

from sqlalchemy import text

from jitterscope import db

DAY_US = 86_400_000_000

_known_days: set[int] = set()
_lock = threading.Lock()


def ensure(from_us: int, to_us: int) -> None:
    """Make sure that rows with start_us in [from_us, to_us] have a partition; cheap when this process knows it.

    Uses a transaction of its own, so that the locks of making one are gone before rows are written.
    """
    days = set(range(from_us // DAY_US, to_us // DAY_US + 1))
    if days <= _known_days:
        return
    with db.system_session() as session:
        session.execute(text("SELECT ensure_time_partitions(:from_us, :to_us)"), {"from_us": from_us, "to_us": to_us})
    with _lock:
        _known_days.update(days)


def forget() -> None:
    """After partitions were dropped, or another database is used: ask the database again."""
    with _lock:
        _known_days.clear()
