"""Plain types of stored series that other domains use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

TICK_US = 100_000
ZOOM_STEP_US = 10_000


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event of a resource; `duration_us` 0 is a point in time. Times are µs since the epoch, UTC."""

    id: int
    resource_id: int
    kind: str
    start_us: int
    duration_us: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredDistribution:
    """Log-bucket histograms of a window: parallel arrays of (tick index from the window's start, bucket, count)."""

    tick: IntArray
    bucket: IntArray
    count: IntArray


@dataclass(frozen=True, slots=True)
class StoredQueries:
    """Single DNS queries of one server, sorted by `sent_us`; parallel arrays of length n.

    `result` is a QueryResult number of ingest.proto, `name` and `client` index into `names` and `clients`.
    `queue_wait_us` is -1 for a query without the kernel's split, None if no query has it. `complete` lists the merged
    spans [start_us, end_us) in which every query is present.
    """

    sent_us: IntArray
    latency_us: IntArray
    result: IntArray
    name: IntArray
    client: IntArray
    names: tuple[str, ...]
    clients: tuple[str, ...]
    queue_wait_us: IntArray | None
    complete: tuple[tuple[int, int], ...]


def nullable(values: FloatArray) -> list[float | None]:
    """The values as JSON, which has no NaN: a missing value is null."""
    missing = np.flatnonzero(np.isnan(values))
    if len(missing) == len(values):
        return [None] * len(values)
    result: list[float | None] = values.tolist()
    for index in missing.tolist():
        result[index] = None
    return result
