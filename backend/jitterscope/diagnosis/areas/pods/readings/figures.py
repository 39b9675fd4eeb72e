"""Figures of pod starts before and after a fix: late ones, their duration, and the verifier's part."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.pods.readings import starts as pod_starts
from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_US, PodStarts
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

_MINUTE_US = 60e6


def _per_tick(snapshot: Snapshot, starts: PodStarts, of_each: FloatArray) -> FloatArray:
    """A figure of each histogram entry, times its count, in the tick that reports it; 0 in all others."""
    told = starts.told
    summed = np.bincount(told.tick, weights=of_each * told.count, minlength=snapshot.ticks)
    return np.asarray(summed[: snapshot.ticks], dtype=np.float64)


def _started(snapshot: Snapshot) -> tuple[PodStarts, FloatArray] | None:
    """The starts, and how many each tick reports; None if none was reported."""
    starts = pod_starts.read(snapshot)
    if not isinstance(starts, PodStarts):
        return None
    return starts, _per_tick(snapshot, starts, np.ones(len(starts.told.tick)))


def late_starts(snapshot: Snapshot) -> Amounts | None:
    if (found := _started(snapshot)) is None:
        return None
    starts, count = found
    late = _per_tick(snapshot, starts, (value_of(starts.told.bucket) > OBJECTIVE_US).astype(np.float64))
    return Amounts(late, count, late)


def start_time(snapshot: Snapshot) -> Amounts | None:
    if (found := _started(snapshot)) is None:
        return None
    starts, count = found
    return Amounts(_per_tick(snapshot, starts, value_of(starts.told.bucket) / 1000), count)


def verifier_time(snapshot: Snapshot) -> Amounts | None:
    """All loads of the node, whoever makes them: ms per pod that started meanwhile."""
    loads = _of_loads(snapshot, "bpf_load_us")
    return loads if loads is None else Amounts(loads.part / 1000, loads.whole)


def loads(snapshot: Snapshot) -> Amounts | None:
    return _of_loads(snapshot, "bpf_loads")


def starts_per_min(snapshot: Snapshot) -> FloatArray | None:
    found = _started(snapshot)
    return None if found is None else found[1] * (_MINUTE_US / snapshot.step_us)


def _of_loads(snapshot: Snapshot, metric: str) -> Amounts | None:
    found = _started(snapshot)
    if found is None or not has(snapshot.node, metric):
        return None
    return Amounts(series(snapshot.node, metric, snapshot.ticks), found[1])
