"""Builds ingest batches the way a collector does, for tests and benchmarks."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import zstandard
from numpy.typing import NDArray

from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series.catalogue import METRICS

TICK_US = 100_000
NODE, CGROUP, PROCESS = pb.RESOURCE_KIND_NODE, pb.RESOURCE_KIND_CGROUP, pb.RESOURCE_KIND_PROCESS
DNS_SERVER = pb.RESOURCE_KIND_DNS_SERVER


def now_us() -> int:
    """The current tick, aligned."""
    at_us = time.time_ns() // 1000
    return at_us - at_us % TICK_US


def encoded(values: NDArray[np.float64], encoding: int) -> bytes:
    """Values with NaN where missing, as on the wire."""
    if encoding == pb.ENCODING_F64:
        return values.astype("<f8").tobytes()
    kind = np.int32 if encoding == pb.ENCODING_I32 else np.int16
    missing = np.isnan(values)
    filled = np.where(missing, np.iinfo(kind).min, np.where(missing, 0, values))
    return filled.astype(np.dtype(kind).newbyteorder("<")).tobytes()


class BatchBuilder:
    """A batch of one node. Resources are added in order; parents first."""

    def __init__(self, node: str = "node-1", spool: bytes | None = None, sequence: int = 1) -> None:
        self.batch = pb.Batch(
            spool_id=spool or secrets.token_bytes(16),
            sequence=sequence,
            sealed_at_us=now_us(),
            collector_version="0.1.0-test",
        )
        self.resource(pb.RESOURCE_KIND_NODE, node, 0)

    def resource(self, kind: int, key: str, parent: int = 0) -> int:
        """Add a resource; returns its index."""
        self.batch.resources.add(kind=kind, key=key, parent=parent)
        return len(self.batch.resources) - 1

    def block(
        self,
        values: Mapping[tuple[int, str], Sequence[float] | NDArray[np.floating[Any]]],
        start_us: int,
        step_us: int = TICK_US,
        encoding: int = pb.ENCODING_I32,
    ) -> BatchBuilder:
        """A series block: {(resource index, metric name): ticks}, all of the same length."""
        rows = np.array(list(values.values()), np.float64)
        self.batch.blocks.add(
            start_us=start_us,
            step_us=step_us,
            tick_count=rows.shape[1],
            encoding=encoding,
            resource=[resource for resource, _ in values],
            metric=[METRICS[metric].id for _, metric in values],
            values=encoded(rows, encoding),
        )
        return self

    def distribution(
        self, resource: int, metric: str, start_us: int, ticks: Iterable[Mapping[int, int]], step_us: int = TICK_US
    ) -> BatchBuilder:
        """Histograms, one {bucket: count} per tick."""
        histograms = list(ticks)
        self.batch.distributions.add(
            start_us=start_us,
            step_us=step_us,
            tick_count=len(histograms),
            resource=resource,
            metric=METRICS[metric].id,
            entries=[len(one) for one in histograms],
            bucket=[bucket for one in histograms for bucket in one],
            count=[count for one in histograms for count in one.values()],
        )
        return self

    def fact(self, resource: int, name: str, value: str, at_us: int | None = None) -> BatchBuilder:
        self.batch.facts.add(resource=resource, name=name, value=value, observed_at_us=at_us or now_us())
        return self

    def body(self) -> bytes:
        """The body to post."""
        return zstandard.ZstdCompressor(level=1).compress(self.batch.SerializeToString())
