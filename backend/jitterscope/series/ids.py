"""Series ids are computed, not looked up: resource id and metric id in one bigint. Negative ids are external series."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

METRIC_BITS = 12
MAX_METRIC = (1 << METRIC_BITS) - 1


def series_id(resource_id: int, metric_id: int) -> int:
    """The id of a catalogue metric of a resource."""
    return (resource_id << METRIC_BITS) | metric_id


def series_ids(resource_ids: NDArray[np.int64], metric_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """As `series_id`, for arrays."""
    return (resource_ids << METRIC_BITS) | metric_ids


def split(series: int) -> tuple[int, int]:
    """(resource id, metric id) of a series."""
    return series >> METRIC_BITS, series & MAX_METRIC
