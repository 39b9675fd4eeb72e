"""Collections that stop a program for longer than an answer is allowed to take, and what they waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.gc import Cycles, GcProcess, read_gc
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import Cpu, has, read_cpu, series
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray

LONG_US = SLOW_US
# A collector that used the CPU for less than this share of a pause waited for something else.
WORKS = 0.5
# Share of a pause in which some task of the container waited for memory.
WAITS = 0.3

Held = Literal["collector", "throttled", "memory", "no_cpu"]


@dataclass(frozen=True, slots=True)
class Pauses:
    """Pauses over 20 ms of the process that has the most of them.

    `held[i]` is what prolonged pause i: the collector's own work, a throttled period, memory reclaim, or waiting for a
    CPU. `worked_us`: CPU that the process used in each of them, NaN if unknown. `count` and `longest_us` cover all
    pauses, including short ones.
    """

    process: GcProcess
    long: Cycles
    held: tuple[Held, ...]
    worked_us: FloatArray
    count: int
    longest_us: float

    @property
    def own(self) -> Cycles:
        """Pauses that the collector itself prolonged."""
        return self.long.where(np.array([one == "collector" for one in self.held], dtype=np.bool_))

    def held_by(self, what: Held) -> int:
        return self.held.count(what)

    @property
    def own_cpu_us(self) -> float:
        """CPU time of the process in the collector's own pauses, as far as known."""
        own = np.array([one == "collector" for one in self.held], dtype=np.bool_)
        return float(np.nansum(self.worked_us[own]))

    @property
    def cpu_known(self) -> bool:
        return bool(np.isfinite(self.worked_us).any())


def ticks_of(snapshot: Snapshot, pauses: Cycles) -> BoolArray:
    """Ticks that a pause touches."""
    mask = np.zeros(snapshot.ticks, dtype=np.bool_)
    first, last = _ticks(snapshot, pauses)
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        mask[low : high + 1] = True
    return mask


def told(process: GcProcess) -> bool:
    """Whether it is known how long collections stop the process."""
    return bool(np.isfinite(process.cycles.pause_us).any() or np.isfinite(process.stopped_us).any())


@reading
def read(snapshot: Snapshot) -> Pauses | None:
    """The pauses; None if it is not known of any process how long its collections stop it."""
    found = [_of(snapshot, process) for process in read_gc(snapshot) if told(process)]
    return max(found, key=lambda one: float((one.long.end_us - one.long.start_us).sum()), default=None)


def _of(snapshot: Snapshot, process: GcProcess) -> Pauses:
    inside = process.cycles.overlapping(snapshot.start_us, snapshot.end_us)
    stops = inside.stops
    length = stops.end_us - stops.start_us
    # If a cycle stops the program for only part of it, only the length of the pause is known.
    lengths = np.concatenate([length, inside.pause_us[~inside.stop & np.isfinite(inside.pause_us)]])
    long = stops.where(length >= LONG_US)
    worked = _worked_us(snapshot, process, long)
    return Pauses(
        process,
        long,
        tuple(_held(snapshot, long, worked)),
        worked,
        len(lengths),
        float(lengths.max()) if len(lengths) else 0.0,
    )


def _ticks(snapshot: Snapshot, pauses: Cycles) -> tuple[IntArray, IntArray]:
    first = np.clip((pauses.start_us - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    last = np.clip((pauses.end_us - 1 - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    return first, last


def _worked_us(snapshot: Snapshot, process: GcProcess, pauses: Cycles) -> FloatArray:
    """CPU time of each pause's ticks beyond the program's usual use in the rest of them."""
    if not has(process.view, "process_cpu_us"):
        return np.full(len(pauses), np.nan)
    used = series(process.view, "process_cpu_us", snapshot.ticks)
    stopped = np.nan_to_num(process.stopped_us)
    calm = used[(stopped == 0) & np.isfinite(used)]
    usual = float(np.median(calm)) / snapshot.step_us if len(calm) else 0.0
    own = used - usual * np.maximum(0.0, snapshot.step_us - stopped)
    found = []
    for low, high in zip(*(one.tolist() for one in _ticks(snapshot, pauses)), strict=True):
        inside = own[low : high + 1]
        found.append(max(0.0, float(np.nansum(inside))) if np.isfinite(inside).any() else np.nan)
    return np.array(found, dtype=np.float64)


def _held(snapshot: Snapshot, pauses: Cycles, worked_us: FloatArray) -> list[Held]:
    cpu: Cpu = read_cpu(snapshot)
    throttled = np.nan_to_num(cpu.throttled) > 0
    waits = np.nan_to_num(series(snapshot.subject, "psi_memory_some_us", snapshot.ticks))
    found: list[Held] = []
    length = (pauses.end_us - pauses.start_us).tolist()
    spans = zip(*(one.tolist() for one in _ticks(snapshot, pauses)), length, worked_us.tolist(), strict=True)
    for low, high, pause, worked in spans:
        # The kernel counts a throttled period when it ends.
        if throttled[low : high + 1 + cpu.lag].any():
            found.append("throttled")
        elif float(waits[low : high + 1].sum()) >= WAITS * pause:
            found.append("memory")
        elif np.isfinite(worked) and worked < WORKS * pause:
            found.append("no_cpu")
        else:
            found.append("collector")
    return found
