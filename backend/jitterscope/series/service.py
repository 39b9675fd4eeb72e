"""Reading stored series. Other domains use these functions and nothing else of this package.

Every function takes a session of `db.organization_session`: rows of other organizations do not exist in it.
A resource or metric without data yields all-missing arrays or empty collections, not an error.
Windows are [from_us, to_us) in µs since the epoch, UTC, and aligned outwards to the step.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from jitterscope.series.types import TICK_US, FloatArray, StoredDistribution, StoredEvent, StoredQueries


def read_series(
    session: Session,
    resource_ids: Sequence[int],
    metrics: Sequence[str],
    from_us: int,
    to_us: int,
    step_us: int = TICK_US,
) -> dict[tuple[int, str], FloatArray]:
    """Values of each (resource, metric) that has at least one tick in the window; all arrays have the same length.

    Element i is the tick that starts at floor(from_us / step_us) * step_us + i * step_us; a missing tick is NaN.
    Raises ValueError for a metric that the catalogue does not know.
    """
    raise NotImplementedError


def read_distributions(
    session: Session,
    resource_ids: Sequence[int],
    metrics: Sequence[str],
    from_us: int,
    to_us: int,
    step_us: int = TICK_US,
) -> dict[tuple[int, str], StoredDistribution]:
    """Histograms of each (resource, metric) that has any; tick indices count from the aligned start of the window."""
    raise NotImplementedError


def read_events(
    session: Session, resource_ids: Sequence[int], from_us: int, to_us: int, kinds: Sequence[str] | None = None
) -> dict[int, list[StoredEvent]]:
    """Events that overlap the window, by resource, sorted by start. Also those that began before it and reach into it."""
    raise NotImplementedError


def read_queries(session: Session, server_ids: Sequence[int], from_us: int, to_us: int) -> dict[int, StoredQueries]:
    """Single queries that reached a DNS server in the window, by server, each query once even where captures overlap."""
    raise NotImplementedError


def data_span(session: Session, resource_id: int) -> tuple[int, int] | None:
    """First and last tick (µs, end exclusive) with any series of the resource; None where there is none."""
    raise NotImplementedError
