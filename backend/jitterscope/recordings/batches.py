"""A slice of a recording as an ingest batch, as a collector would have sent it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from jitterscope.captures.wire import message_of
from jitterscope.pb import ingest_pb2 as pb
from jitterscope.recordings.model import RecordedResource, Recording
from jitterscope.series.catalogue import METRICS
from jitterscope.series.types import TICK_US, ZOOM_STEP_US, FloatArray, StoredDistribution, StoredQueries

MAX_TICKS = 3000
KINDS = {
    "node": pb.RESOURCE_KIND_NODE,
    "cgroup": pb.RESOURCE_KIND_CGROUP,
    "process": pb.RESOURCE_KIND_PROCESS,
    "dns_server": pb.RESOURCE_KIND_DNS_SERVER,
    "dns_path": pb.RESOURCE_KIND_DNS_PATH,
    "tcp_server": pb.RESOURCE_KIND_TCP_SERVER,
    "tcp_upstream": pb.RESOURCE_KIND_TCP_UPSTREAM,
    "probe": pb.RESOURCE_KIND_PROBE,
}
STATES = {
    "active": pb.SOURCE_STATE_ACTIVE,
    "degraded": pb.SOURCE_STATE_DEGRADED,
    "unavailable": pb.SOURCE_STATE_UNAVAILABLE,
}
_LOSSLESS = ((pb.ENCODING_I16, np.int16, "<i2"), (pb.ENCODING_I32, np.int32, "<i4"))


def slices(recording: Recording, slice_us: int) -> Iterator[tuple[int, int]]:
    """[from_us, to_us) pieces of a recording, each of whole ticks."""
    step = max(TICK_US, min(slice_us, MAX_TICKS * ZOOM_STEP_US) // TICK_US * TICK_US)
    for from_us in range(recording.start_us, recording.end_us, step):
        yield from_us, min(from_us + step, recording.end_us)


def batch_of(
    recording: Recording,
    from_us: int,
    to_us: int,
    shift_us: int = 0,
    key_suffix: str = "",
    *,
    continued: bool = False,
) -> pb.Batch:
    """Everything in [from_us, to_us), shifted by `shift_us` (whole ticks). The first slice also carries the facts.

    With `continued`, no slice is the first: others come before the recording. `key_suffix` is added to the node's key,
    so that a replay does not become part of the real node's history. The caller sets spool, sequence, triggers, and the
    time of sealing.
    """
    if shift_us % TICK_US:
        raise ValueError(f"shift_us is {shift_us}, not a whole number of ticks")
    batch = pb.Batch()
    for index, resource in enumerate(recording.resources):
        key = resource.key + key_suffix if index == 0 else resource.key
        batch.resources.add(kind=KINDS[resource.kind], key=key, parent=resource.parent)
    for step_us in (TICK_US, ZOOM_STEP_US):
        rows = {
            (index, METRICS[name].id): values[_ticks(recording, from_us, to_us, step_us)]
            for index, resource in enumerate(recording.resources)
            for name, values in (resource.series if step_us == TICK_US else resource.zoomed).items()
        }
        _add_blocks(batch, rows, from_us + shift_us, step_us)
    first = from_us == recording.start_us and not continued
    for index, resource in enumerate(recording.resources):
        for name, stored in resource.distributions.items():
            _add_distribution(batch, recording, index, name, stored, from_us, to_us, shift_us)
        _add_points(batch, index, resource, from_us, to_us, shift_us, first)
        if resource.queries is not None:
            _add_queries(batch, index, resource.queries, from_us, to_us, shift_us)
    last_us = recording.end_us - 1
    for one in recording.captures:
        # With the data of the time at which it was sent: at its end.
        if from_us <= min(max(one.content.end_us, recording.start_us), last_us) < to_us:
            batch.captures.append(message_of(one.content, one.resource, shift_us))
    if first:
        for source in recording.sources:
            state = STATES[source.state]
            batch.sources.add(name=source.name, state=state, detail=source.detail, needs=source.needs)
    return batch


def _ticks(recording: Recording, from_us: int, to_us: int, step_us: int) -> slice:
    return slice((from_us - recording.start_us) // step_us, (to_us - recording.start_us) // step_us)


def _add_blocks(batch: pb.Batch, rows: Mapping[tuple[int, int], FloatArray], start_us: int, step_us: int) -> None:
    """Add one block per width: the narrowest that holds a series without loss. Series without any tick are left out."""
    groups: dict[int, list[tuple[int, int, bytes]]] = {}
    ticks = 0
    for (resource, metric), values in rows.items():
        if np.isnan(values).all():
            continue
        encoding, content = _encoded(values)
        groups.setdefault(encoding, []).append((resource, metric, content))
        ticks = len(values)
    for encoding, members in groups.items():
        batch.blocks.add(
            start_us=start_us,
            step_us=step_us,
            tick_count=ticks,
            encoding=encoding,
            resource=[resource for resource, _, _ in members],
            metric=[metric for _, metric, _ in members],
            values=b"".join(content for _, _, content in members),
        )


def _encoded(values: FloatArray) -> tuple[int, bytes]:
    missing = np.isnan(values)
    filled = np.where(missing, 0.0, values)
    if (filled == np.rint(filled)).all():
        for encoding, kind, layout in _LOSSLESS:
            bounds = np.iinfo(kind)
            if filled.min() > bounds.min and filled.max() <= bounds.max:
                return encoding, np.where(missing, bounds.min, filled).astype(layout).tobytes()
    return pb.ENCODING_F64, values.astype("<f8").tobytes()


def _add_distribution(
    batch: pb.Batch,
    recording: Recording,
    index: int,
    name: str,
    stored: StoredDistribution,
    from_us: int,
    to_us: int,
    shift_us: int,
) -> None:
    part = _ticks(recording, from_us, to_us, TICK_US)
    inside = (stored.tick >= part.start) & (stored.tick < part.stop)
    if not inside.any():
        return
    tick = stored.tick[inside] - part.start
    order = np.argsort(tick, kind="stable")
    size = part.stop - part.start
    batch.distributions.add(
        start_us=from_us + shift_us,
        step_us=TICK_US,
        tick_count=size,
        resource=index,
        metric=METRICS[name].id,
        entries=np.bincount(tick, minlength=size).tolist(),
        bucket=stored.bucket[inside][order].tolist(),
        count=stored.count[inside][order].tolist(),
    )


def _add_points(
    batch: pb.Batch, index: int, resource: RecordedResource, from_us: int, to_us: int, shift_us: int, first: bool
) -> None:
    """Add facts and events; the first slice also has those from before it, with facts moved to its start."""
    for fact in resource.facts:
        if from_us <= fact.since_us < to_us or (first and fact.since_us < from_us):
            at_us = max(fact.since_us, from_us) + shift_us
            batch.facts.add(resource=index, name=fact.name, value=fact.value, observed_at_us=at_us)
    for event in resource.events:
        if from_us <= event.start_us < to_us or (first and event.start_us < from_us):
            batch.events.add(
                resource=index,
                kind=event.kind,
                start_us=event.start_us + shift_us,
                duration_us=event.duration_us,
                attributes=dict(event.attributes),
            )


def _add_queries(batch: pb.Batch, index: int, stored: StoredQueries, from_us: int, to_us: int, shift_us: int) -> None:
    """Add a block for each complete span, and one for the rest; queries without a known queue wait stay separate."""
    inside = (stored.sent_us >= from_us) & (stored.sent_us < to_us)
    waits = stored.queue_wait_us
    rest = inside.copy()
    spans = [(max(a, from_us), min(b, to_us), True) for a, b in stored.complete if a < to_us and b > from_us]
    for a, b, complete in [*spans, (from_us, to_us, False)]:
        members = rest & (stored.sent_us >= a) & (stored.sent_us < b)
        rest &= ~members
        known = members & (waits >= 0) if waits is not None else np.zeros(len(members), np.bool_)
        if complete or (members & ~known).any():
            _add_query_block(batch, index, stored, members & ~known, a, b, shift_us, complete, with_waits=False)
        if known.any():
            _add_query_block(batch, index, stored, known, a, b, shift_us, complete, with_waits=True)


def _add_query_block(
    batch: pb.Batch,
    index: int,
    stored: StoredQueries,
    members: np.typing.NDArray[np.bool_],
    start_us: int,
    end_us: int,
    shift_us: int,
    complete: bool,
    *,
    with_waits: bool,
) -> None:
    names, name = np.unique(stored.name[members], return_inverse=True)
    clients, client = np.unique(stored.client[members], return_inverse=True)
    batch.queries.add(
        server=index,
        complete=complete,
        start_us=start_us + shift_us,
        end_us=end_us + shift_us,
        offset_us=(stored.sent_us[members] - start_us).tolist(),
        latency_us=stored.latency_us[members].tolist(),
        result=stored.result[members].tolist(),
        name=name.tolist(),
        client=client.tolist(),
        names=[stored.names[i] for i in names],
        clients=[stored.clients[i] for i in clients],
        queue_wait_us=stored.queue_wait_us[members].tolist() if with_waits and stored.queue_wait_us is not None else [],
    )
