"""The lab's figures, computed from what the product stored of the node and of the lab's cgroup."""

from __future__ import annotations

import json

import numpy as np

from jitterscope.diagnosis.areas.kernel.readings.dentry_falls import Fall, falls
from jitterscope.recordings.model import Recording
from jitterscope.recordings.snapshots import snapshot_of
from jitterscope.series.types import TICK_US, FloatArray, StoredEvent
from labs.dentries.figures import DentryFigures

LOOKUPS, TRACING = "fs.lookup_failures", "fs.tracing"
_NOTICED_US = 3_000_000


def observed(
    node: Recording, program: str, from_us: int, ended_us: int, pause: tuple[int, int] | None
) -> DentryFigures:
    """What the product saw of the node, in a recording that begins before the storm.

    Failing lookups are those that it attributes to `program`. It traces them only while negative dentries grow, so the
    rate covers only the traced time.
    """
    failures, traced_s = traced(node, program, ended_us)
    figures = DentryFigures(
        gained=_gained(node, "dentries", from_us, ended_us),
        negative_gained=_gained(node, "dentries_negative", from_us, ended_us),
        failures=failures,
        failures_per_s=failures / traced_s if failures is not None and traced_s else None,
    )
    if pause is not None and (fall := _fall(node, pause)) is not None:
        figures.pause_s = fall.duration_us / 1e6
        figures.dropped = round(fall.freed)
        figures.latest_ms = _latest_ms(node, pause)
    return figures


def traced(node: Recording, program: str, ended_us: int) -> tuple[int | None, float]:
    """Failing lookups of a program by its short name, and how long (s) they had been traced; None: never."""
    spans, total = [], 0
    for event in (one for one in _lookups(node) if one.start_us < ended_us):
        spans.append((event.start_us, min(ended_us, event.start_us + event.duration_us)))
        total += sum(row[3] for row in json.loads(event.attributes["rows"]) if row[0] == program)
    covered, reached = 0, 0
    for low, high in sorted(spans):
        covered += max(0, high - max(low, reached))
        reached = max(reached, high)
    return (total if spans else None), covered / 1e6


def _lookups(node: Recording) -> list[StoredEvent]:
    """Lookups by program: the node's own events or, if it has none, those of its cgroups."""
    of_all = [[event for event in one.events if event.kind == LOOKUPS] for one in node.resources]
    return of_all[0] or [event for events in of_all[1:] for event in events]


def tracing_ended_us(node: Recording, ended_us: int) -> int | None:
    """When the tracing ended that was on at the end of the storm, or that started right after it; None if none did."""
    ends = [
        event.start_us + event.duration_us
        for event in node.resources[0].events
        if event.kind == TRACING and event.start_us < ended_us + _NOTICED_US
    ]
    return max(ends, default=None)


def _gained(node: Recording, metric: str, from_us: int, ended_us: int) -> int | None:
    series = node.resources[0].series.get(metric)
    if series is None:
        return None
    begin, end = ((at - node.start_us) // TICK_US for at in (from_us, ended_us))
    before, during = _known(series[:begin]), _known(series[begin : end + 11])  # it is sometimes read only once a second
    return round(float(during.max() - before[-1])) if before.size and during.size else None


def _known(series: FloatArray) -> FloatArray:
    return series[np.isfinite(series)]


def _fall(node: Recording, pause: tuple[int, int]) -> Fall | None:
    """The largest drop that began at about that time."""
    near = [
        one
        for one in falls(snapshot_of(node))
        if pause[0] - 1_000_000 <= node.start_us + one.start * TICK_US <= pause[1] + 1_000_000
    ]
    return max(near, key=lambda one: one.freed, default=None)


def _latest_ms(node: Recording, pause: tuple[int, int]) -> float | None:
    late = node.resources[0].series.get("collector_lateness_us")
    if late is None:
        return None
    begin, end = ((at - node.start_us) // TICK_US for at in pause)
    during = _known(late[begin : end + 3])
    return float(during.max()) / 1e3 if during.size else None
