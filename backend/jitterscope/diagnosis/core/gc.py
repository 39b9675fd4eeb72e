"""GC of the processes in a snapshot, whoever observed it: probes tell spans exactly, a metrics page only ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import Event, FloatArray, IntArray, ResourceView, Snapshot

GC_EVENT = "go.gc_cycle"
# A metrics page tells when a cycle ended. It may have begun so long before: throttled ones last about 0.5 s.
ASSUMED_CYCLE_US = 1_000_000
Source = Literal["uprobe", "metrics", "threads", "unknown"]


@dataclass(frozen=True, slots=True)
class Cycles:
    """GC cycles in time order: parallel arrays of µs since the epoch."""

    start_us: IntArray
    end_us: IntArray

    def overlapping(self, low_us: int, high_us: int) -> Cycles:
        """Those that ran at some time in [low_us, high_us)."""
        chosen = (self.end_us > low_us) & (self.start_us < high_us)
        return Cycles(self.start_us[chosen], self.end_us[chosen])

    def ended(self, low_us: int, high_us: int) -> int:
        """How many ended in (low_us, high_us]."""
        return int(((self.end_us > low_us) & (self.end_us <= high_us)).sum())

    def __len__(self) -> int:
        return len(self.start_us)


@dataclass(frozen=True, slots=True)
class GcProcess:
    """GC of one Go process. `active_us`: wall time of each tick inside a cycle, NaN where nobody looked.

    `exact`: spans are measured. Otherwise they are the longest possible, and `ended` counts the cycles of a tick.
    """

    view: ResourceView
    source: Source
    active_us: FloatArray
    cycles: Cycles
    ended: FloatArray
    exact: bool


def is_go(view: ResourceView) -> bool:
    return any(fact.name.startswith("go.") for fact in view.facts) or any(
        event.kind == GC_EVENT for event in view.events
    )


@reading
def read_gc(snapshot: Snapshot) -> tuple[GcProcess, ...]:
    """Go processes of the subject whose GC somebody observed, busiest collector first."""
    found = []
    for view in snapshot.processes:
        events = [event for event in view.events if event.kind == GC_EVENT]
        if not has(view, "gc_active_us") and not has(view, "gc_cycles") and not events:
            continue
        source = _source(view, events)
        exact = has(view, "gc_active_us") or any(event.duration_us > 0 for event in events)
        cycles = _cycles(events, 0 if exact else ASSUMED_CYCLE_US)
        ended = series(view, "gc_cycles", snapshot.ticks)
        active = _exact(snapshot, view, cycles) if exact else _assumed(snapshot, cycles, ended)
        found.append(GcProcess(view, source, active, cycles, ended, exact))
    return tuple(sorted(found, key=lambda process: (-float(np.nansum(process.active_us)), process.view.id)))


def _exact(snapshot: Snapshot, view: ResourceView, cycles: Cycles) -> FloatArray:
    """A cycle's event comes when it has ended; the series may already show the ticks it ran in, or not yet."""
    recorded, spans = series(view, "gc_active_us", snapshot.ticks), _active(snapshot, cycles)
    return np.fmax(recorded, np.where((spans > 0) | ~np.isfinite(recorded).any(), spans, np.nan))


def _assumed(snapshot: Snapshot, cycles: Cycles, ended: FloatArray) -> FloatArray:
    """What the ends allow; unknown after the last look at the page."""
    active = _active(snapshot, cycles)
    looked = np.flatnonzero(np.isfinite(ended))
    if len(looked):
        active[looked[-1] + 1 :] = np.nan
    return active


def _source(view: ResourceView, events: list[Event]) -> Source:
    named = view.fact("go.gc_source") or next((event.attributes.get("source", "") for event in events), "")
    for known in ("uprobe", "metrics", "threads"):
        if named == known:
            return known
    return "unknown"


def _cycles(events: list[Event], at_least_us: int) -> Cycles:
    pairs = sorted((event.end_us - max(event.duration_us, at_least_us), event.end_us) for event in events)
    spans = np.array(pairs or np.zeros((0, 2)), dtype=np.int64)
    return Cycles(spans[:, 0], spans[:, 1])


def _active(snapshot: Snapshot, cycles: Cycles) -> FloatArray:
    """Wall time of each tick inside a cycle, µs."""
    if not len(cycles):
        return np.zeros(snapshot.ticks)
    # A process runs one cycle at a time; estimated spans may overlap a little, and count once.
    ends = np.maximum.accumulate(cycles.end_us)
    starts = np.maximum(cycles.start_us, np.concatenate([cycles.start_us[:1], ends[:-1]]))
    ends = np.maximum(ends, starts)
    edges = snapshot.start_us + np.arange(snapshot.ticks + 1) * snapshot.step_us
    times = np.stack([starts, ends], axis=1).ravel() - snapshot.start_us
    passed = np.cumsum(np.stack([np.zeros(len(starts)), ends - starts], axis=1).ravel())
    return np.diff(np.interp(edges - snapshot.start_us, times, passed))
