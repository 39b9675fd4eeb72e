"""Answers when a burst of queries would have reached the memory limit under other settings."""

from __future__ import annotations

import math
from typing import Literal, cast

from jitterscope.db import organization_session
from jitterscope.diagnosis.finding import Interval
from jitterscope.diagnosis.memory_queries import Burst
from jitterscope.diagnosis.memory_waits import forward_blocks
from jitterscope.diagnosis.snapshot import Snapshot
from jitterscope.diagnosis.whatif import memory as model
from jitterscope.diagnosis.whatif.memory_load import from_snapshot, load_of
from jitterscope.errors import not_found
from jitterscope.incidents import snapshots
from jitterscope.inventory import service as inventory
from jitterscope.whatif.memory_schemas import (
    MeasuredBurst,
    MemoryChange,
    MemoryPrediction,
    MemoryWhatIf,
    MemoryWhatIfRequest,
)
from jitterscope.whatif.service import subject_of, window_of

_Bound = Literal["max_concurrent", "latency", "deadline", "none"]


def answer(organization_id: int, request: MemoryWhatIfRequest) -> MemoryWhatIf:
    """Raises Problem 404 (no such resource, no data) and 422 (a bad window, a resource in no cgroup)."""
    with organization_session(organization_id) as session:
        subject = subject_of(session, request.resource_id)
        from_us, to_us = window_of(session, subject, request.from_, request.to)
        tree = inventory.subject_tree(session, subject.id, from_us, to_us)
        if tree is None:
            raise not_found("resource", request.resource_id)
        snapshot = snapshots.read(session, tree, from_us, to_us)
    return said(snapshot, subject.id, request.settings)


def said(snapshot: Snapshot, resource_id: int, settings: list[MemoryChange]) -> MemoryWhatIf:
    """The settings tried on the newest burst of a snapshot."""
    from_us, to_us = snapshot.start_us, snapshot.end_us
    found = from_snapshot(snapshot)
    if isinstance(found, str):
        return MemoryWhatIf(
            resource_id=resource_id, from_us=from_us, to_us=to_us, burst=None, predictions=[],
            recommended_max_concurrent=None, recommended_limit_bytes=None, recommended_replicas=None, cannot_tell=found,
        )  # fmt: skip
    burst, limit = found
    load = load_of(burst, limit)
    limited = math.isfinite(limit)
    cap = model.largest_cap(load, forward_blocks(snapshot)) if limited else 0
    needed = model.needed_limit(load)
    return MemoryWhatIf(
        resource_id=resource_id,
        from_us=from_us,
        to_us=to_us,
        burst=_burst(snapshot, burst, load),
        predictions=[_prediction(load, change) for change in settings],
        recommended_max_concurrent=cap or None,
        recommended_limit_bytes=None if needed is None else math.ceil(needed),
        recommended_replicas=model.needed_replicas(load) if limited else None,
        cannot_tell=None,
    )


def _burst(snapshot: Snapshot, burst: Burst, load: model.MemoryLoad) -> MeasuredBurst:
    low, expected, high = load.per_query_bytes
    return MeasuredBurst(
        onset_us=snapshot.start_us + burst.growth.onset * snapshot.step_us,
        base_bytes=load.base_bytes,
        per_query_bytes=Interval(low=low, expected=expected, high=high),
        joining_per_s=load.joining_per_s,
        arrivals_per_s=burst.arrivals_per_s,
        most_waiting=burst.most,
        usually_waiting=burst.usual,
        ceiling=_finite(load.ceiling),
        bound=cast(_Bound, burst.bound),
        limit_bytes=_finite(load.limit_bytes),
    )


def _prediction(load: model.MemoryLoad, change: MemoryChange) -> MemoryPrediction:
    said = model.forecast(load, change.max_concurrent, change.limit_bytes, change.replicas)
    return MemoryPrediction(
        max_concurrent=change.max_concurrent,
        limit_bytes=_finite(said.limit_bytes),
        replicas=change.replicas,
        waiting=_finite(said.waiting),
        outcome=said.outcome,
        seconds_to_oom=said.seconds_to_oom,
        peak_bytes=said.peak_bytes,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
