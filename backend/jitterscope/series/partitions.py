"""Time partitions: created ahead by a task, and on demand for data that arrives late or early."""

from __future__ import annotations

from jitterscope import db
from jitterscope.kit.perobject import PerObject
from jitterscope.series.store import partitions as store

DAY_US = 86_400_000_000

# Days that have partitions, as far as this process knows.
_known_days: PerObject[set[int]] = PerObject(set)


def ensure(from_us: int, to_us: int) -> None:
    """Make sure that rows with start_us in [from_us, to_us] have a partition; cheap if this process already knows it.

    Uses its own transaction, so that the locks of creating one are released before rows are written.
    """
    days = set(range(from_us // DAY_US, to_us // DAY_US + 1))
    known = _known_days.of(db.engine())
    if days <= known:
        return
    store.create(from_us, to_us)
    known |= days


def forget() -> None:
    """Ask the database again, after partitions were dropped or the database changed."""
    _known_days.of(db.engine()).clear()
