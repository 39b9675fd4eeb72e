"""Merges ingest batches into a recording: the inverse of `batches.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jitterscope.captures.wire import capture_of
from jitterscope.inventory.types import FactRow, ResourceKind, SourceRow
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.recordings.batches import KINDS, STATES
from jitterscope.recordings.model import RecordedCapture, RecordedResource, Recording
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import (
    TICK_US,
    ZOOM_STEP_US,
    FloatArray,
    IntArray,
    StoredDistribution,
    StoredEvent,
    StoredQueries,
)

_KIND_OF: dict[int, ResourceKind] = {number: kind for kind, number in KINDS.items()}  # type: ignore[misc]
_STATE_OF = {number: state for state, number in STATES.items()}
_NAME_OF = {metric.id: metric.name for metric in METRICS.values()}
_LAYOUTS = {pb.ENCODING_I16: ("<i2", -(2**15)), pb.ENCODING_I32: ("<i4", -(2**31)), pb.ENCODING_F64: ("<f8", None)}


class BadRecording(ValueError):
    """The file is not a recording, is damaged, or is from a newer version."""


@dataclass(slots=True)
class _Queries:
    columns: list[list[IntArray]] = field(default_factory=lambda: [[] for _ in range(6)])
    names: dict[str, int] = field(default_factory=dict)
    clients: dict[str, int] = field(default_factory=dict)
    complete: list[tuple[int, int]] = field(default_factory=list)
    has_waits: bool = False


@dataclass(slots=True)
class _Gathered:
    """The data of one resource from all batches."""

    series: dict[str, FloatArray] = field(default_factory=dict)
    zoomed: dict[str, FloatArray] = field(default_factory=dict)
    distributions: dict[str, list[StoredDistribution]] = field(default_factory=lambda: defaultdict(list))
    facts: list[FactRow] = field(default_factory=list)
    events: list[StoredEvent] = field(default_factory=list)
    queries: _Queries | None = None


def merge(
    batches: Iterable[pb.Batch],
    start_us: int,
    ticks: int,
    subject: int,
    names: Sequence[str],
    labels: Mapping[str, str],
) -> Recording:
    """The recording that was cut into `batches`, which all list the same resources. Raises BadRecording."""
    resources: list[pb.Resource] = []
    gathered: list[_Gathered] = []
    sources: dict[str, SourceRow] = {}
    captures: list[RecordedCapture] = []
    for batch in batches:
        if not resources:
            resources = list(batch.resources)
            gathered = [_Gathered() for _ in resources]
        if [(r.kind, r.key) for r in batch.resources] != [(r.kind, r.key) for r in resources]:
            raise BadRecording("its batches name different resources")
        for block in batch.blocks:
            _put_block(gathered, block, start_us, ticks)
        for distribution in batch.distributions:
            _put_distribution(gathered, distribution, start_us)
        for fact in batch.facts:
            gathered[fact.resource].facts.append(FactRow(fact.name, fact.value, fact.observed_at_us))
        for event in batch.events:
            stored = StoredEvent(0, 0, event.kind, event.start_us, event.duration_us, dict(event.attributes))
            gathered[event.resource].events.append(stored)
        for queries in batch.queries:
            _put_queries(gathered, queries)
        for capture in batch.captures:
            if capture.resource >= len(resources):
                raise BadRecording("a capture belongs to no resource")
            captures.append(RecordedCapture(capture.resource, capture_of(capture)))
        for source in batch.sources:
            state = _STATE_OF[source.state]
            sources[source.name] = SourceRow(source.name, state, source.detail, source.needs)  # type: ignore[arg-type]
    if not 0 <= subject < len(resources) or len(names) != len(resources):
        raise BadRecording("its header does not match its resources")
    return Recording(
        start_us=start_us,
        ticks=ticks,
        subject=subject,
        resources=tuple(
            _finished(resource, name, found) for resource, name, found in zip(resources, names, gathered, strict=True)
        ),
        sources=tuple(sources.values()),
        captures=tuple(captures),
        labels=dict(labels),
    )


def _finished(resource: pb.Resource, name: str, found: _Gathered) -> RecordedResource:
    return RecordedResource(
        kind=_KIND_OF[resource.kind],
        key=resource.key,
        name=name,
        parent=resource.parent,
        series=found.series,
        zoomed=found.zoomed,
        distributions={
            name: StoredDistribution(
                np.concatenate([part.tick for part in parts]),
                np.concatenate([part.bucket for part in parts]),
                np.concatenate([part.count for part in parts]),
            )
            for name, parts in found.distributions.items()
        },
        facts=tuple(sorted(found.facts, key=lambda fact: fact.since_us)),
        events=tuple(sorted(found.events, key=lambda event: event.start_us)),
        queries=None if found.queries is None else _joined(found.queries),
    )


def _put_block(gathered: list[_Gathered], block: pb.SeriesBlock, start_us: int, ticks: int) -> None:
    layout, missing = _LAYOUTS[block.encoding]
    values = np.frombuffer(block.values, layout).astype(np.float64).reshape(len(block.resource), block.tick_count)
    if missing is not None:
        values[values == missing] = np.nan
    zoomed = block.step_us == ZOOM_STEP_US
    size = ticks * (TICK_US // block.step_us)
    first = (block.start_us - start_us) // block.step_us
    if block.step_us not in (TICK_US, ZOOM_STEP_US) or first < 0 or first + block.tick_count > size:
        raise BadRecording("a series lies outside its window")
    for resource, metric, row in zip(block.resource, block.metric, values, strict=True):
        name = _NAME_OF.get(metric)
        if name is None:
            continue  # from a newer catalog
        target = gathered[resource].zoomed if zoomed else gathered[resource].series
        target.setdefault(name, np.full(size, np.nan))[first : first + block.tick_count] = row


def _put_distribution(gathered: list[_Gathered], block: pb.DistributionBlock, start_us: int) -> None:
    name = _NAME_OF.get(block.metric)
    if name is None:
        return
    first = (block.start_us - start_us) // TICK_US
    entries = np.array(block.entries, np.int64)
    gathered[block.resource].distributions[name].append(
        StoredDistribution(
            np.repeat(np.arange(len(entries), dtype=np.int64) + first, entries),
            np.array(block.bucket, np.int64),
            np.array(block.count, np.int64),
        )
    )


def _put_queries(gathered: list[_Gathered], block: pb.QueryBlock) -> None:
    target = gathered[block.server].queries
    if target is None:
        target = gathered[block.server].queries = _Queries()
    count = len(block.offset_us)
    names = np.array([target.names.setdefault(name, len(target.names)) for name in block.names], np.int64)
    clients = np.array([target.clients.setdefault(name, len(target.clients)) for name in block.clients], np.int64)
    target.has_waits |= bool(block.queue_wait_us)
    parts = (
        np.array(block.offset_us, np.int64) + block.start_us,
        np.array(block.latency_us, np.int64),
        np.array(block.result, np.int64),
        names[np.array(block.name, np.int64)],
        clients[np.array(block.client, np.int64)],
        np.array(block.queue_wait_us, np.int64) if block.queue_wait_us else np.full(count, -1),
    )
    for column, part in zip(target.columns, parts, strict=True):
        column.append(part)
    if block.complete:
        target.complete.append((block.start_us, block.end_us))


def _joined(found: _Queries) -> StoredQueries:
    columns = [np.concatenate(parts) for parts in found.columns]
    order = np.argsort(columns[0], kind="stable")
    sent, latency, result, name, client, wait = (column[order] for column in columns)
    return StoredQueries(
        sent_us=sent,
        latency_us=latency,
        result=result,
        name=name,
        client=client,
        names=tuple(found.names),
        clients=tuple(found.clients),
        queue_wait_us=wait if found.has_waits else None,
        complete=_merged(found.complete),
    )


def _merged(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    result: list[tuple[int, int]] = []
    for a, b in sorted(spans):
        if result and a <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], b))
        else:
            result.append((a, b))
    return tuple(result)
