"""A batch that passed validation: plain arrays that the database cannot reject."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jitterscope.inventory.types import ResourceKind

IndexArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """A resource as the wire names it: kind, key, and the index of its parent (its own for the node)."""

    kind: ResourceKind
    key: str
    parent: int


@dataclass(frozen=True, slots=True)
class Block:
    """Segments of one shape; `resource` and `metric` are parallel, `payload` is series-major."""

    start_us: int
    step_us: int
    tick_count: int
    encoding: int
    resource: IndexArray
    metric: IndexArray
    payload: bytes


@dataclass(frozen=True, slots=True)
class Histogram:
    """Latency distributions of one series, packed: uint16 `entries` per tick, uint16 `buckets`, uint32 `counts`."""

    start_us: int
    step_us: int
    tick_count: int
    resource: int
    metric: int
    entries: bytes
    buckets: bytes
    counts: bytes


@dataclass(frozen=True, slots=True)
class FactSpec:
    resource: int
    name: str
    value: str
    observed_at_us: int


@dataclass(frozen=True, slots=True)
class EventSpec:
    resource: int
    kind: str
    start_us: int
    duration_us: int
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """Single queries at a server; packed little-endian columns: uint32, except uint8 results."""

    server: int
    complete: bool
    start_us: int
    end_us: int
    offsets_us: bytes
    latencies_us: bytes
    results: bytes
    name_indices: bytes
    client_indices: bytes
    queue_waits_us: bytes | None
    names: list[str]
    clients: list[str]


@dataclass(frozen=True, slots=True)
class CaptureSpec:
    """A capture of a resource; `payload` is packed for the database, the other fields describe its contents."""

    resource: int
    reason: str
    start_us: int
    end_us: int
    rate_hz: float
    samples: int
    processes: int
    cpus: int
    lost_samples: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class TriggerSpec:
    resource: int
    reason: str
    at_us: int


@dataclass(frozen=True, slots=True)
class SourceSpec:
    name: str
    state: str
    detail: str
    needs: str


@dataclass(frozen=True, slots=True)
class ValidBatch:
    spool_id: bytes
    sequence: int
    sealed_at_us: int
    collector_version: str
    dropped_batches: int
    resources: list[ResourceSpec]
    blocks: list[Block]
    histograms: list[Histogram]
    facts: list[FactSpec]
    events: list[EventSpec]
    queries: list[QuerySpec]
    captures: list[CaptureSpec]
    triggers: list[TriggerSpec]
    sources: list[SourceSpec]
    # Earliest and latest start of anything partitioned by time; None if there is nothing of the kind.
    first_us: int | None
    last_us: int | None
    # Parts that were left out because they are too old to be accepted.
    too_old: int = 0
    # Why parts were left out as being from the future; empty if none were.
    ahead: str = ""
