"""Turns a parsed message into a ValidBatch, or reports its first fault. After this, content cannot cause failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from jitterscope.ingest import limits, validation_captures
from jitterscope.ingest.batch import (
    Block,
    EventSpec,
    FactSpec,
    Histogram,
    IndexArray,
    QuerySpec,
    ResourceSpec,
    SourceSpec,
    TriggerSpec,
    ValidBatch,
)
from jitterscope.ingest.body import malformed
from jitterscope.ingest.checks import CLOCK_AHEAD, Clock, OutOfTime, at_most, check, column, index, text
from jitterscope.inventory.types import ResourceKind
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.series.catalogue import METRICS
from jitterscope.series.ids import MAX_METRIC

Part = TypeVar("Part")
Valid = TypeVar("Valid")
_KINDS: dict[int, ResourceKind] = {
    pb.RESOURCE_KIND_NODE: "node",
    pb.RESOURCE_KIND_CGROUP: "cgroup",
    pb.RESOURCE_KIND_PROCESS: "process",
    pb.RESOURCE_KIND_DNS_SERVER: "dns_server",
    pb.RESOURCE_KIND_DNS_PATH: "dns_path",
    pb.RESOURCE_KIND_TCP_SERVER: "tcp_server",
    pb.RESOURCE_KIND_TCP_UPSTREAM: "tcp_upstream",
    pb.RESOURCE_KIND_PROBE: "probe",
}
_KIND_BITS = {kind: 1 << number for number, kind in _KINDS.items()}
_WIDTHS = {pb.ENCODING_F64: 8, pb.ENCODING_I32: 4, pb.ENCODING_I16: 2}
_STATES: dict[int, str] = {
    pb.SOURCE_STATE_ACTIVE: "active",
    pb.SOURCE_STATE_DEGRADED: "degraded",
    pb.SOURCE_STATE_UNAVAILABLE: "unavailable",
}


def _allowed(distribution: bool) -> IndexArray:
    """Bit mask of the resource kinds that each metric id may belong to; 0 for an unknown id."""
    masks = np.zeros(MAX_METRIC + 1, np.int64)
    for metric in METRICS.values():
        if (metric.kind == "distribution") == distribution:
            masks[metric.id] = sum(_KIND_BITS[kind] for kind in metric.resources if kind in _KIND_BITS)
    return masks


_SERIES_KINDS, _DISTRIBUTION_KINDS = _allowed(False), _allowed(True)


def validate(batch: pb.Batch, now_us: int, oldest_us: int) -> ValidBatch:
    """Check everything. Raises Problem 400 with the first fault; `oldest_us` is how far back data is kept."""
    clock = Clock(now_us, oldest_us)
    check(len(batch.spool_id) == 16, f"spool_id has {len(batch.spool_id)} bytes instead of 16")
    check(batch.sequence < 2**63, "sequence is larger than 2^63 - 1")
    check(batch.dropped_batches < 2**63, "dropped_batches is larger than 2^63 - 1")
    recent = _Recent()
    try:
        clock.check(batch.sealed_at_us, "sealed_at_us")
    except OutOfTime as fault:
        if fault.type != CLOCK_AHEAD:
            raise
        recent.leave_out(fault)
    resources = _resources(batch)
    bits = np.array([_KIND_BITS[resource.kind] for resource in resources], np.int64)
    at_most(len(batch.blocks), limits.MAX_BLOCKS, "series blocks")
    at_most(sum(len(block.resource) for block in batch.blocks), limits.MAX_SERIES, "series")
    at_most(len(batch.distributions), limits.MAX_HISTOGRAMS, "distribution blocks")
    at_most(len(batch.facts), limits.MAX_FACTS, "facts")
    at_most(len(batch.events), limits.MAX_EVENTS, "events")
    at_most(len(batch.queries), limits.MAX_QUERY_BLOCKS, "query blocks")
    at_most(len(batch.triggers), limits.MAX_TRIGGERS, "triggers")
    at_most(len(batch.sources), limits.MAX_SOURCES, "sources")
    at_most(len(batch.captures), limits.MAX_CAPTURES, "captures")
    blocks = recent.of(batch.blocks, lambda block: _block(block, bits, clock))
    histograms = recent.of(batch.distributions, lambda block: _histogram(block, bits, clock))
    facts = recent.of(batch.facts, lambda fact: _fact(fact, len(resources), clock))
    _facts_of_resources(facts)
    events = recent.of(batch.events, lambda event: _event(event, len(resources), clock))
    queries = recent.of(batch.queries, lambda block: _queries(block, resources, clock))
    captures = recent.of(batch.captures, lambda one: validation_captures.validate(one, len(resources), clock))
    triggers = recent.of(batch.triggers, lambda trigger: _trigger(trigger, len(resources), clock))
    if recent.fault is not None and not (blocks or histograms or facts or events or queries or captures):
        raise recent.fault
    return ValidBatch(
        spool_id=batch.spool_id,
        sequence=batch.sequence,
        sealed_at_us=min(batch.sealed_at_us, now_us) if recent.ahead else batch.sealed_at_us,
        collector_version=text(batch.collector_version, limits.MAX_VERSION_LENGTH, "collector_version"),
        dropped_batches=batch.dropped_batches,
        resources=resources,
        blocks=blocks,
        histograms=histograms,
        facts=facts,
        events=events,
        queries=queries,
        captures=captures,
        triggers=triggers,
        sources=_sources(batch),
        first_us=clock.first_us,
        last_us=clock.last_us,
        too_old=recent.too_old,
        ahead=recent.ahead,
    )


class _Recent:
    """Collects the parts of a batch, without those that are too old, which are counted, or from the future."""

    def __init__(self) -> None:
        self.too_old = 0
        # Why parts are left out: the first reason, and the first reason about the future.
        self.fault: OutOfTime | None = None
        self.ahead = ""

    @contextmanager
    def without(self) -> Iterator[None]:
        """Leave out a part that is out of its time range."""
        try:
            yield
        except OutOfTime as fault:
            self.leave_out(fault)

    def leave_out(self, fault: OutOfTime) -> None:
        """Count a part that is too old, or record that it is from the future."""
        self.fault = self.fault or fault
        if fault.type == CLOCK_AHEAD:
            self.ahead = self.ahead or f"The service refuses data of this machine: {fault.why}"
        else:
            self.too_old += 1

    def of(self, parts: Iterable[Part], valid: Callable[[Part], Valid]) -> list[Valid]:
        kept: list[Valid] = []
        for part in parts:
            with self.without():
                kept.append(valid(part))
        return kept


def _resources(batch: pb.Batch) -> list[ResourceSpec]:
    at_most(len(batch.resources), limits.MAX_RESOURCES, "resources")
    check(len(batch.resources) > 0, "it names no resource; index 0 must be the node")
    specs: list[ResourceSpec] = []
    for position, resource in enumerate(batch.resources):
        kind = _KINDS.get(resource.kind)
        if kind is None:
            raise malformed(f"resource {position} has the unknown kind {resource.kind}")
        check((kind == "node") == (position == 0), "the node must be resource 0, and the only node")
        parent = resource.parent
        if parent >= position and not parent == position == 0:
            raise malformed(f"the parent of resource {position} does not come before it")
        key = resource.key
        if not key or len(key) > limits.MAX_KEY_BYTES // 4 or "\0" in key:
            text(key, limits.MAX_KEY_BYTES, f"the key of resource {position}", empty=False)
        specs.append(ResourceSpec(kind, key, parent))
    check(len({(spec.kind, spec.key) for spec in specs}) == len(specs), "it names a resource twice")
    return specs


def _grid(start_us: int, step_us: int, tick_count: int, clock: Clock, what: str) -> None:
    check(step_us in limits.STEPS_US, f"{what} has the step {step_us} µs; allowed are {sorted(limits.STEPS_US)}")
    check(1 <= tick_count <= limits.MAX_TICKS, f"{what} has {tick_count} ticks; allowed are 1 to {limits.MAX_TICKS}")
    clock.stored(start_us, f"the start of {what}")
    clock.check(start_us + (tick_count - 1) * step_us, f"the end of {what}")
    check(start_us % step_us == 0, f"{what} starts at {start_us}, which is not a multiple of its step {step_us}")


def _block(block: pb.SeriesBlock, bits: IndexArray, clock: Clock) -> Block:
    _grid(block.start_us, block.step_us, block.tick_count, clock, "a series block")
    width = _WIDTHS.get(block.encoding)
    if width is None:
        raise malformed(f"a series block has the unknown encoding {block.encoding}")
    count = len(block.resource)
    check(count > 0, "a series block has no series")
    resource = column(block.resource, count, "resource of a series block", len(bits) - 1)
    metric = column(block.metric, count, "metric of a series block", MAX_METRIC)
    misfit = (_SERIES_KINDS[metric] & bits[resource]) == 0
    if misfit.any():
        wrong = int(metric[misfit.argmax()])
        raise malformed(f"metric {wrong} is unknown or does not belong to a resource of this kind")
    values = block.values
    expected = count * block.tick_count * width
    check(len(values) == expected, f"a series block has {len(values)} bytes of values instead of {expected}")
    if block.encoding == pb.ENCODING_F64:
        check(not np.isinf(np.frombuffer(values, "<f8")).any(), "a series block has an infinite value")
    return Block(block.start_us, block.step_us, block.tick_count, int(block.encoding), resource, metric, values)


def _histogram(block: pb.DistributionBlock, bits: IndexArray, clock: Clock) -> Histogram:
    _grid(block.start_us, block.step_us, block.tick_count, clock, "a distribution block")
    index(block.resource, len(bits), "a distribution block")
    known = block.metric <= MAX_METRIC and bool(_DISTRIBUTION_KINDS[block.metric] & bits[block.resource])
    check(known, f"metric {block.metric} is not a distribution of a resource of this kind")
    entries = column(block.entries, block.tick_count, "entries of a distribution block", 2**16 - 1)
    total = int(entries.sum())
    buckets = column(block.bucket, total, "bucket of a distribution block", limits.MAX_BUCKET)
    counts = column(block.count, total, "count of a distribution block")
    return Histogram(
        block.start_us, block.step_us, block.tick_count, block.resource, block.metric,
        entries.astype("<u2").tobytes(), buckets.astype("<u2").tobytes(), counts.astype("<u4").tobytes(),
    )  # fmt: skip


def _fact(fact: pb.Fact, resources: int, clock: Clock) -> FactSpec:
    index(fact.resource, resources, "a fact")
    check(limits.NAME.fullmatch(fact.name) is not None, "a fact has a malformed name")
    return FactSpec(
        fact.resource,
        fact.name,
        text(fact.value, limits.MAX_FACT_BYTES, f"the fact {fact.name}"),
        clock.check(fact.observed_at_us, f"the fact {fact.name}"),
    )


def _facts_of_resources(facts: Iterable[FactSpec]) -> None:
    """Whoever opens a resource reads all its facts."""
    counts: Counter[int] = Counter()
    sizes: Counter[int] = Counter()
    for fact in facts:
        counts[fact.resource] += 1
        sizes[fact.resource] += len(fact.value)
    at_most(max(counts.values(), default=0), limits.MAX_FACTS_OF_RESOURCE, "facts of one resource")
    at_most(max(sizes.values(), default=0), limits.MAX_FACT_BYTES_OF_RESOURCE, "characters of facts of one resource")


def _event(event: pb.Event, resources: int, clock: Clock) -> EventSpec:
    index(event.resource, resources, "an event")
    check(limits.NAME.fullmatch(event.kind) is not None, "an event has a malformed kind")
    at_most(event.duration_us, limits.MAX_EVENT_US, f"µs of duration in the event {event.kind}")
    at_most(len(event.attributes), limits.MAX_ATTRIBUTES, f"attributes of the event {event.kind}")
    attributes = {
        text(key, limits.MAX_ATTRIBUTE_LENGTH, "an attribute's name"): text(
            value, limits.MAX_ATTRIBUTE_LENGTH, f"the attribute {key[:50]}"
        )
        for key, value in event.attributes.items()
    }
    size = sum(len(key.encode()) + len(value.encode()) for key, value in attributes.items())
    at_most(size, limits.MAX_ATTRIBUTE_BYTES, f"bytes of attributes of the event {event.kind}")
    clock.stored(event.start_us, f"the event {event.kind}")
    return EventSpec(event.resource, event.kind, event.start_us, event.duration_us, attributes)


def _queries(block: pb.QueryBlock, resources: list[ResourceSpec], clock: Clock) -> QuerySpec:
    index(block.server, len(resources), "a query block")
    served = resources[block.server].kind in ("dns_server", "tcp_server", "tcp_upstream")
    check(served, "a query block belongs to something that is not a DNS server, TCP server, or upstream")
    clock.stored(block.start_us, "the start of a query block")
    span_us = block.end_us - block.start_us
    check(0 <= span_us <= limits.MAX_QUERY_SPAN_US, f"a query block covers {span_us} µs")
    clock.check(block.end_us, "the end of a query block")
    count = len(block.offset_us)
    names = [text(name, limits.MAX_DNS_NAME_LENGTH, "a DNS name") for name in block.names]
    clients = [text(client, limits.MAX_KEY_BYTES, "a client") for client in block.clients]
    waits = column(block.queue_wait_us, count, "queue_wait_us of a query block") if block.queue_wait_us else None
    return QuerySpec(
        server=block.server,
        complete=block.complete,
        start_us=block.start_us,
        end_us=block.end_us,
        offsets_us=_u32(column(block.offset_us, count, "offset_us of a query block", max(span_us, 0))),
        latencies_us=_u32(column(block.latency_us, count, "latency_us of a query block")),
        results=column(block.result, count, "result of a query block", 255).astype(np.uint8).tobytes(),
        name_indices=_u32(column(block.name, count, "name of a query block", len(names) - 1)),
        client_indices=_u32(column(block.client, count, "client of a query block", len(clients) - 1)),
        queue_waits_us=None if waits is None else _u32(waits),
        names=names,
        clients=clients,
    )


def _u32(values: IndexArray) -> bytes:
    return values.astype("<u4").tobytes()


def _trigger(trigger: pb.Trigger, resources: int, clock: Clock) -> TriggerSpec:
    index(trigger.resource, resources, "a trigger")
    check(limits.REASON.fullmatch(trigger.reason) is not None, "a trigger has a malformed reason")
    return TriggerSpec(trigger.resource, trigger.reason, clock.check(trigger.at_us, "a trigger"))


def _sources(batch: pb.Batch) -> list[SourceSpec]:
    specs: dict[str, SourceSpec] = {}
    for source in batch.sources:
        check(limits.NAME.fullmatch(source.name) is not None, "a source has a malformed name")
        state = _STATES.get(source.state)
        if state is None:
            raise malformed(f"the source {source.name} has the unknown state {source.state}")
        detail = text(source.detail, limits.MAX_TEXT_LENGTH, f"detail of the source {source.name}")
        needs = text(source.needs, limits.MAX_TEXT_LENGTH, f"needs of the source {source.name}")
        specs[source.name] = SourceSpec(source.name, state, detail, needs)
    return list(specs.values())
