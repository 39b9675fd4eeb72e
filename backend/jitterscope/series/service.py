"""Reads stored series. Other domains use these functions and nothing else of this package.

Every function takes a session of `db.organization_session`, which sees no rows of other organizations. A resource or
metric without data is absent from the result, not an error. Windows are [from_us, to_us) in µs since the epoch, UTC,
and aligned outwards to the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.series import read_distributions as distributions
from jitterscope.series import read_events as events
from jitterscope.series import read_queries as queries
from jitterscope.series import read_ticks as ticks
from jitterscope.series import rolled, rollups
from jitterscope.series.catalogue import METRICS
from jitterscope.series.ids import series_id
from jitterscope.series.quantiles import quantiles_us
from jitterscope.series.rollups import Rollup
from jitterscope.series.types import TICK_US, FloatArray, StoredDistribution, StoredEvent, StoredQueries
from jitterscope.series.window import Window


def read_series(
    session: Session,
    resource_ids: Sequence[int],
    metrics: Sequence[str],
    from_us: int,
    to_us: int,
    step_us: int = TICK_US,
) -> dict[tuple[int, str], FloatArray]:
    """Values of each (resource, metric) that has at least one tick in the window; all arrays have the same length.

    Element i is the tick that starts at floor(from_us / step_us) * step_us + i * step_us; a missing tick is NaN. Raises
    ValueError for a metric that is not in the catalogue.
    """
    wanted = _wanted(resource_ids, metrics)
    window = Window.around(from_us, to_us, step_us)
    found = ticks.read(ticks.scope_of(session, resource_ids), list(wanted), window)
    return {wanted[identity]: values for identity, values in found.items()}


def read_distributions(
    session: Session,
    resource_ids: Sequence[int],
    metrics: Sequence[str],
    from_us: int,
    to_us: int,
    step_us: int = TICK_US,
) -> dict[tuple[int, str], StoredDistribution]:
    """Histograms of each (resource, metric) that has any; tick indices count from the aligned start of the window."""
    wanted = _wanted(resource_ids, metrics)
    found = distributions.read(session, list(wanted), Window.around(from_us, to_us, step_us))
    return {wanted[identity]: histograms for identity, histograms in found.items()}


def read_minutes(
    session: Session, resource_ids: Sequence[int], metrics: Sequence[str], from_us: int, to_us: int
) -> dict[tuple[int, str], Rollup]:
    """Minimum, maximum, sum, and number of ticks per minute for each (resource, metric) that has a tick.

    From rollups, which are kept longer than ticks. The window is widened to whole minutes.
    """
    wanted = _wanted(resource_ids, metrics)
    if not wanted:
        return {}
    window = Window.around(from_us, to_us, rollups.MINUTE.step_us)
    found = rolled.read(ticks.scope_of(session, resource_ids), list(wanted), window, rollups.MINUTE)
    seen = np.flatnonzero((found.ticks > 0).any(axis=1)).tolist()
    keys = list(wanted.values())
    return {keys[row]: Rollup(*(part[row] for part in found.parts)) for row in seen}


def read_quantiles(
    session: Session, resource_ids: Sequence[int], metric: str, quantiles: tuple[float, ...], from_us: int, to_us: int
) -> tuple[float, ...] | None:
    """Quantiles (µs) of a distribution of all given resources together over a whole window; None if it has no data."""
    counts = distributions.whole(session, list(_wanted(resource_ids, [metric])), from_us, to_us)
    if not counts.any():
        return None
    return tuple(float(values[0]) for values in quantiles_us(counts[None, :], quantiles))


def read_all(
    session: Session, wanted: Mapping[int, Sequence[str]], node_ids: Sequence[int], from_us: int, to_us: int
) -> tuple[dict[int, dict[str, FloatArray]], dict[int, dict[str, StoredDistribution]]]:
    """Values and histograms of many resources on the given nodes at once, by resource and metric.

    Each resource has its own list of metrics. On the 100 ms grid; otherwise like `read_series` and
    `read_distributions`.
    """
    window = Window.around(from_us, to_us, TICK_US)
    plain: dict[int, tuple[int, str]] = {}
    counted: dict[int, tuple[int, str]] = {}
    for resource_id, metrics in wanted.items():
        for name in metrics:
            metric = METRICS[name]
            kind = counted if metric.kind == "distribution" else plain
            kind[series_id(resource_id, metric.id)] = (resource_id, name)
    values: dict[int, dict[str, FloatArray]] = {}
    scope = ticks.Scope(session, session.info["organization_id"], tuple(node_ids))
    for identity, array in ticks.read(scope, list(plain), window).items():
        resource_id, name = plain[identity]
        values.setdefault(resource_id, {})[name] = array
    histograms: dict[int, dict[str, StoredDistribution]] = {}
    if counted:
        for identity, stored in distributions.read(session, list(counted), window).items():
            resource_id, name = counted[identity]
            histograms.setdefault(resource_id, {})[name] = stored
    return values, histograms


def read_events(
    session: Session,
    resource_ids: Sequence[int],
    from_us: int,
    to_us: int,
    kinds: Sequence[str] | None = None,
    most: int | None = None,
) -> dict[int, list[StoredEvent]]:
    """Events that overlap the window, by resource, sorted by start; includes those that began before it.

    `most` limits the result to the first events.
    """
    return events.read(session, resource_ids, from_us, to_us, kinds, most)


def read_queries(session: Session, server_ids: Sequence[int], from_us: int, to_us: int) -> dict[int, StoredQueries]:
    """Single queries that reached a DNS server in the window, by server; each once, even where captures overlap."""
    return queries.read(session, server_ids, from_us, to_us)


def read_query_times(session: Session, server_ids: Sequence[int], from_us: int, to_us: int) -> dict[int, StoredQueries]:
    """As `read_queries`, but without names and clients, which are most of the data; their arrays are empty."""
    return queries.read_times(session, server_ids, from_us, to_us)


def _wanted(resource_ids: Sequence[int], metrics: Sequence[str]) -> dict[int, tuple[int, str]]:
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        raise ValueError(f"unknown metrics: {', '.join(unknown)}")
    return {
        series_id(resource_id, METRICS[metric].id): (resource_id, metric)
        for resource_id in resource_ids
        for metric in metrics
    }
