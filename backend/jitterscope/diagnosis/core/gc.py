"""Garbage collection of the processes in a snapshot, for any runtime and any data source.

Probes, USDT, and hsperfdata report exact spans, a metrics page only the ends of cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, number, series
from jitterscope.diagnosis.core.snapshot import Event, FloatArray, IntArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

# Go has its own event; all other runtimes share one.
EVENTS = ("go.gc_cycle", "gc.cycle")
# A metrics page only shows when a cycle ended. It may have begun this long before: throttled cycles last about 0.5 s.
ASSUMED_CYCLE_US = 1_000_000
Source = Literal["uprobe", "usdt", "hsperfdata", "metrics", "threads", "unknown"]
# Sources inside the runtime itself that see each cycle begin and end.
SURE: tuple[Source, ...] = ("uprobe", "usdt", "hsperfdata")
# A cycle paused for at least this share of its time stops the program from beginning to end.
_WHOLE = 0.9


@dataclass(frozen=True, slots=True)
class Cycles:
    """GC cycles in time order: parallel arrays of length n, times in µs since the epoch.

    `pause_us`: the part in which the program was stopped, NaN if unknown. `marking_us`: how long the program kept
    running first while its heap was marked, 0 if it did not or if unknown. `collector`: the runtime's name of the
    collector, "" if it has only one.
    """

    start_us: IntArray
    end_us: IntArray
    pause_us: FloatArray
    marking_us: IntArray
    collector: NDArray[np.str_]

    def where(self, chosen: BoolArray) -> Cycles:
        return Cycles(
            self.start_us[chosen],
            self.end_us[chosen],
            self.pause_us[chosen],
            self.marking_us[chosen],
            self.collector[chosen],
        )

    def overlapping(self, low_us: int, high_us: int) -> Cycles:
        """Cycles that ran at any time in [low_us, high_us)."""
        return self.where((self.end_us > low_us) & (self.start_us < high_us))

    def ended(self, low_us: int, high_us: int) -> int:
        """The number of cycles that ended in (low_us, high_us]."""
        return int(((self.end_us > low_us) & (self.end_us <= high_us)).sum())

    @property
    def stop(self) -> BoolArray:
        """Cycles during which the program was stopped from the beginning, or from the end of marking, to the end."""
        length = np.maximum(1, self.end_us - self.start_us - self.marking_us)
        return np.asarray(np.nan_to_num(self.pause_us) >= _WHOLE * length, dtype=np.bool_)

    @property
    def stops(self) -> Cycles:
        """For the cycles of `stop`, the time for which the program was stopped."""
        found = self.where(self.stop)
        return replace(found, start_us=found.start_us + found.marking_us, marking_us=np.zeros_like(found.marking_us))

    def __len__(self) -> int:
        return len(self.start_us)


@dataclass(frozen=True, slots=True)
class GcProcess:
    """GC of one process. `active_us`: wall time of each tick inside a cycle, NaN if not observed.

    `runtime`: "go", "jvm", "nodejs", "python", or "ruby"; "" if unknown. `exact`: spans are measured. Otherwise they
    are the longest possible, and `ended` counts the cycles of a tick. `stopped_us`: wall time of each tick in which a
    collection stopped the program, NaN if unknown.
    """

    view: ResourceView
    runtime: str
    source: Source
    active_us: FloatArray
    cycles: Cycles
    ended: FloatArray
    exact: bool
    stopped_us: FloatArray

    @property
    def sure(self) -> bool:
        """Whether the runtime itself reported its cycles."""
        return self.source in SURE

    @property
    def stops_the_program(self) -> bool:
        """Whether the program is stopped for most of the time in cycles: all CPU used then belongs to the GC."""
        whole = float((self.cycles.end_us - self.cycles.start_us).sum())
        known = self.cycles.stops
        return whole > 0 and float((known.end_us - known.start_us).sum()) >= 0.5 * whole


def is_go(view: ResourceView) -> bool:
    return any(fact.name.startswith("go.") for fact in view.facts) or any(
        event.kind == EVENTS[0] for event in view.events
    )


def runtime_of(view: ResourceView) -> str:
    """The runtime of a process according to its collector source; "" if none reports it."""
    return "go" if is_go(view) else view.fact("runtime.name") or ""


def gc_source(view: ResourceView) -> str | None:
    """The source of this process's GC data, if any."""
    return view.fact("go.gc_source") or view.fact("runtime.gc_source")


@reading
def read_gc(snapshot: Snapshot) -> tuple[GcProcess, ...]:
    """Processes of the subject whose GC was observed, the one with the most GC first."""
    found = []
    for view in snapshot.processes:
        events = [event for event in view.events if event.kind in EVENTS]
        if not has(view, "gc_active_us") and not has(view, "gc_cycles") and not events:
            continue
        exact = has(view, "gc_active_us") or any(event.duration_us > 0 for event in events)
        cycles = _cycles(events, 0 if exact else ASSUMED_CYCLE_US)
        ended = series(view, "gc_cycles", snapshot.ticks)
        active = _exact(snapshot, view, cycles) if exact else _assumed(snapshot, cycles, ended)
        stopped = _stopped(snapshot, view, cycles)
        found.append(GcProcess(view, runtime_of(view), _source(view, events), active, cycles, ended, exact, stopped))
    return tuple(sorted(found, key=lambda process: (-float(np.nansum(process.active_us)), process.view.id)))


def _exact(snapshot: Snapshot, view: ResourceView, cycles: Cycles) -> FloatArray:
    """A cycle's event arrives when it has ended; the series may already show the ticks it ran in, or not yet."""
    recorded, spans = series(view, "gc_active_us", snapshot.ticks), _inside(snapshot, cycles)
    return np.fmax(recorded, np.where((spans > 0) | ~np.isfinite(recorded).any(), spans, np.nan))


def _assumed(snapshot: Snapshot, cycles: Cycles, ended: FloatArray) -> FloatArray:
    """The active time that the ends allow; unknown after the last scrape of the page."""
    active = _inside(snapshot, cycles)
    looked = np.flatnonzero(np.isfinite(ended))
    if len(looked):
        active[looked[-1] + 1 :] = np.nan
    return active


def _stopped(snapshot: Snapshot, view: ResourceView, cycles: Cycles) -> FloatArray:
    """The recorded value, or that of cycles whose pause has a known position, whichever is larger."""
    recorded, spans = series(view, "gc_pause_us", snapshot.ticks), _inside(snapshot, cycles.stops)
    told = bool(np.isfinite(cycles.pause_us).any())
    return np.fmax(recorded, np.where((spans > 0) | (told and not np.isfinite(recorded).any()), spans, np.nan))


def _source(view: ResourceView, events: list[Event]) -> Source:
    named = gc_source(view) or next((event.attributes.get("source", "") for event in events), "")
    for known in get_args(Source):
        if named == known:
            return known  # type: ignore[no-any-return]
    return "unknown"


def _cycles(events: list[Event], at_least_us: int) -> Cycles:
    rows = sorted(
        (event.end_us - max(event.duration_us, at_least_us), event.end_us, index) for index, event in enumerate(events)
    )
    spans = np.array([row[:2] for row in rows] or np.zeros((0, 2)), dtype=np.int64)
    told = [events[row[2]].attributes for row in rows]
    pauses = [number(one.get("pause_us")) for one in told]
    return Cycles(
        spans[:, 0],
        spans[:, 1],
        np.array([np.nan if one is None else one for one in pauses], dtype=np.float64),
        np.array([number(one.get("marking_us")) or 0 for one in told], dtype=np.int64),
        np.array([one.get("collector", "") for one in told], dtype=np.str_),
    )


def _inside(snapshot: Snapshot, cycles: Cycles) -> FloatArray:
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
