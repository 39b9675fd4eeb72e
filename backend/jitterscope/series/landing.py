"""Writes a batch into the tables where data lands, all in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from jitterscope.series import layouts
from jitterscope.series.layouts import IdArray
from jitterscope.series.store import landing as store


@dataclass(frozen=True, slots=True)
class LandingBlock:
    """`payload` is series-major in the order of `series`, with values in the wire's encoding."""

    start_us: int
    step_us: int
    tick_count: int
    encoding: int
    series: IdArray
    payload: bytes


@dataclass(frozen=True, slots=True)
class LandingHistogram:
    series_id: int
    start_us: int
    step_us: int
    tick_count: int
    entries: bytes
    buckets: bytes
    counts: bytes


@dataclass(frozen=True, slots=True)
class LandingEvent:
    resource_id: int
    kind: str
    start_us: int
    duration_us: int
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LandingQueries:
    server_id: int
    start_us: int
    end_us: int
    complete: bool
    offsets_us: bytes
    latencies_us: bytes
    results: bytes
    name_indices: bytes
    client_indices: bytes
    queue_waits_us: bytes | None
    names: Sequence[str]
    clients: Sequence[str]


def store_blocks(session: Session, organization_id: int, node_id: int, blocks: Sequence[LandingBlock]) -> None:
    """Write one row per block. Raises layouts.DuplicateSeries."""
    store.add_blocks(
        session,
        [
            (
                organization_id, node_id, layouts.layout_id(session, organization_id, block.series), block.start_us,
                block.step_us, block.tick_count, block.encoding, block.payload,
            )
            for block in blocks
        ],
    )  # fmt: skip


def store_histograms(session: Session, organization_id: int, histograms: Sequence[LandingHistogram]) -> None:
    store.add_histograms(
        session,
        [
            (organization_id, h.series_id, h.start_us, h.step_us, h.tick_count, h.entries, h.buckets, h.counts)
            for h in histograms
        ],
    )


def store_events(session: Session, organization_id: int, events: Sequence[LandingEvent]) -> None:
    store.add_events(
        session,
        [
            (organization_id, e.resource_id, e.kind, e.start_us, e.duration_us, json.dumps(dict(e.attributes)))
            for e in events
        ],
    )


def store_queries(session: Session, organization_id: int, queries: Sequence[LandingQueries]) -> None:
    store.add_queries(
        session,
        [
            (
                organization_id, q.server_id, q.start_us, q.end_us, q.complete, q.offsets_us, q.latencies_us,
                q.results, q.name_indices, q.client_indices, q.queue_waits_us, list(q.names), list(q.clients),
            )
            for q in queries
        ],
    )  # fmt: skip
