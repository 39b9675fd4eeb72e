"""The CPU time that garbage collection used in a stall: measured, or bounded by the spans of its cycles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings.demand import Demand
from jitterscope.diagnosis.areas.cpu.readings.episodes import Episode
from jitterscope.diagnosis.core.gc import ASSUMED_CYCLE_US, Cycles, GcProcess
from jitterscope.diagnosis.core.signals import Cpu, series
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.programs.golang import heap_live_bytes

# A cycle can take this many times as long as cheap cycles of the same process; beyond that it was stalled.
STRETCH = 3.0
# Marking took 1.1 ms of CPU per live MB in the recordings of case 1; small objects and cold caches cost more.
MOST_US_PER_BYTE = 0.003
# A tick in which a collection stops the program for this share of it counts as GC.
STOPPED = 0.9
# A collector that runs for more than this share of the time is never idle.
CONTINUOUS = 0.3


@dataclass(frozen=True, slots=True)
class GcCost:
    """`near`: ticks within one CFS period of a cycle; `known`: ticks that were observed.

    `stopped`: ticks for which a collection stopped the process throughout. `measured_us`: CPU time of the collector's
    own threads in each tick, NaN where unknown.
    """

    cycles: Cycles
    bound_us: FloatArray
    active_us: FloatArray
    near: BoolArray
    known: BoolArray
    own_cpu_us: FloatArray | None
    own_base_us: float
    start_us: int
    step_us: int
    cpus: float
    counted: FloatArray | None
    cycle_us: float
    stopped: BoolArray
    measured_us: FloatArray

    def least_us(self, episode: Episode) -> float:
        """CPU time (µs) that GC certainly used: while it stops the program, all CPU of the process is its own."""
        measured = self._measured_us(episode)
        if measured is not None:
            return measured
        if self.own_cpu_us is None:
            return 0.0
        return float(np.nansum(self.own_cpu_us[episode.ticks][self.stopped[episode.ticks]]))

    def most_us(self, episode: Episode) -> float:
        """The most CPU time (µs) that GC can have used in the episode."""
        measured = self._measured_us(episode)
        if measured is not None:
            return measured
        by_cycles = self._spans_us(episode) if self.counted is None else self._counted_us(episode)
        if self.own_cpu_us is not None:
            own = self.own_cpu_us[episode.ticks]
            if episode.observed(np.isfinite(self.own_cpu_us)):
                # Only what the process used beyond its usual rate can be GC.
                by_cycles = min(by_cycles, max(0.0, float(np.nansum(own)) - self.own_base_us * episode.length))
        return by_cycles

    def _measured_us(self, episode: Episode) -> float | None:
        if not episode.observed(np.isfinite(self.measured_us)):
            return None
        return float(np.nansum(self.measured_us[episode.ticks]))

    def _counted_us(self, episode: Episode) -> float:
        """Cycles that ended in or just after the episode, times the maximum cost of a cycle of this heap."""
        assert self.counted is not None
        later = ASSUMED_CYCLE_US // self.step_us
        return float(np.nansum(self.counted[episode.start : episode.end + later])) * self.cycle_us

    def _spans_us(self, episode: Episode) -> float:
        low, high = self._span(episode)
        inside = np.minimum(self.cycles.end_us, high) - np.maximum(self.cycles.start_us, low)
        length = np.maximum(1, self.cycles.end_us - self.cycles.start_us)
        by_cycles = float((self.bound_us * np.clip(inside / length, 0.0, 1.0)).sum())
        if by_cycles == 0.0:
            # The cycle's end is not reported yet, but the ticks it runs in are.
            by_cycles = float(np.nansum(self.active_us[episode.ticks])) * self.cpus
        return by_cycles

    def share_of_time(self, episode: Episode) -> float:
        """Share of the episode in which a cycle was running."""
        return float(np.nansum(self.active_us[episode.ticks])) / max(1, episode.length * self.step_us)

    def rests(self, episode: Episode) -> bool:
        """Whether the collector is idle for most of the time around the episode (1.5 s to either side)."""
        margin = 1_500_000 // self.step_us
        around = self.active_us[max(0, episode.start - margin) : episode.end + margin]
        known = around[np.isfinite(around)]
        return len(known) < margin or float(known.mean()) < CONTINUOUS * self.step_us

    def _span(self, episode: Episode) -> tuple[int, int]:
        return self.start_us + episode.start * self.step_us, self.start_us + episode.end * self.step_us


def gc_cost(
    snapshot: Snapshot,
    gc: GcProcess,
    cpu: Cpu,
    procs: int | None,
    own_cpu_us: FloatArray | None,
    demand: Demand,
    starting: BoolArray,
) -> GcCost:
    """Bounds from spans: a cycle cannot use more than `procs` CPUs, nor much more than its cheap siblings."""
    # Cycles during startup, on a heap that is still growing, do not predict later ones.
    at = (gc.cycles.start_us - snapshot.start_us) // snapshot.step_us
    inside = (at >= 0) & (at < snapshot.ticks)
    kept = (gc.cycles.end_us > snapshot.start_us) & ~(inside & starting[np.clip(at, 0, snapshot.ticks - 1)])
    usable = gc.cycles.where(kept)
    lengths = (usable.end_us - usable.start_us).astype(np.float64)
    live = heap_live_bytes(gc.view)
    cpus = float(procs) if procs else 2.0 * max(1.0, cpu.limit)
    for collector in np.unique(usable.collector):
        # Throttled cycles last long because they are stalled; their cheap siblings show how long the work takes. A
        # young collection is no sibling of a full one.
        alike = usable.collector == collector
        if alike.sum() >= 5:
            lengths[alike] = np.minimum(lengths[alike], STRETCH * float(np.percentile(lengths[alike], 20)))
    return GcCost(
        cycles=usable,
        bound_us=lengths * cpus,
        active_us=gc.active_us,
        near=dilate(np.nan_to_num(gc.active_us) > 0, 0, cpu.lag),
        known=np.isfinite(gc.active_us),
        own_cpu_us=own_cpu_us,
        own_base_us=_base(own_cpu_us, demand.quiet),
        start_us=snapshot.start_us,
        step_us=snapshot.step_us,
        cpus=cpus,
        counted=None if gc.exact else gc.ended,
        cycle_us=ASSUMED_CYCLE_US * cpus if live is None else max(5_000.0, MOST_US_PER_BYTE * live),
        stopped=np.nan_to_num(gc.stopped_us) >= STOPPED * snapshot.step_us,
        measured_us=series(gc.view, "gc_cpu_us", snapshot.ticks),
    )


def _base(own_cpu_us: FloatArray | None, quiet: BoolArray) -> float:
    known = own_cpu_us[quiet & np.isfinite(own_cpu_us)] if own_cpu_us is not None else np.zeros(0)
    return float(np.median(known)) if len(known) else 0.0
