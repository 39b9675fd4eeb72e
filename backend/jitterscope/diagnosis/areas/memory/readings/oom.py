"""When memory will reach its limit, and whether that is certain enough to report; validated against actual kills."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.areas.memory.readings.query_waits import GARBAGE_RATE
from jitterscope.diagnosis.areas.memory.readings.signals import Growth, Life, Memory, growth, lives, read
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import Burst, burst_until
from jitterscope.diagnosis.core.signals import has, series
from jitterscope.diagnosis.core.snapshot import IntArray, ResourceView, Snapshot
from jitterscope.diagnosis.programs import golang

LEAST_S, LOOK_S = 0.5, 1.0
# Shares of the limit: a rise must exceed the first to count, and from the second on a rising line is close.
LEAST_RISE, CLOSE = 0.03, 0.85
CLOSE_S = 5.0
# If nothing bounds the queries, their rise is extrapolated for this multiple of the time for which it was seen.
UNBOUNDED_TIMES = 0.5
# A straight line is extrapolated for as long as it was seen; for three times that if it is a minute long.
LONG_S, LONG_TIMES = 60.0, 3.0
STEADY, VERY_STEADY = 0.9, 0.97
LEAK_LEAST_S = 2.0
# Share of a rise that comes after a GC cycle.
WENT_ON = 0.2
STARTED = "process.start"


@dataclass(frozen=True, slots=True)
class Alarm:
    """The limit is reached `seconds` after tick `tick` (predicted from data up to then), between low and high."""

    tick: int
    seconds: float
    low: float
    high: float

    def at_us(self, snapshot: Snapshot) -> float:
        """When the limit is reached, µs since the epoch."""
        return snapshot.start_us + self.tick * snapshot.step_us + self.seconds * 1e6


@dataclass(frozen=True, slots=True)
class NoAlarm:
    """Why a rise is not predicted to reach the limit."""

    reason: str
    numbers: dict[str, float]


def of_burst(found: Burst, limit: float) -> Alarm | NoAlarm:
    """Prediction for waiting queries, which fill memory up to `limit` bytes together with their garbage."""
    rise = found.growth
    seconds = _time_of(found, limit)
    highest = found.highest_with_garbage
    numbers = {"limit_bytes": limit, "used_bytes": rise.now}
    if np.isfinite(highest):
        numbers["highest_bytes"] = highest
    # Their waiting time is unknown yet: if the limit is not close, there is time to watch for a second.
    early = found.bound == "deadline" and rise.seconds < min(LOOK_S, rise.time_to(limit) / 3)
    if early or rise.seconds < LEAST_S or rise.risen < LEAST_RISE * limit:
        return NoAlarm(f"It has grown for only {rise.seconds:.1f} s.", numbers)
    if not np.isfinite(seconds):
        reached = f"{highest / (1 << 20):,.0f}" if np.isfinite(highest) else f"{rise.now / (1 << 20):,.0f}"
        return NoAlarm(
            f"With as many queries as can wait, memory reaches {reached} MiB of {limit / (1 << 20):,.0f} MiB.",
            numbers,
        )
    return _alarm(rise, limit, seconds)


def _time_of(found: Burst, limit: float) -> float:
    """Seconds until the limit: linear while more queries accumulate, then at the rate of garbage; else inf."""
    rise = found.growth
    straight = rise.time_to(limit)
    if rise.now >= CLOSE * limit and straight <= CLOSE_S:
        return straight
    if found.bound == "none":
        return straight if straight <= max(LEAST_S, UNBOUNDED_TIMES * rise.seconds) else float("inf")
    if found.highest >= limit and straight <= 1.5 * found.lasts_s:
        return straight
    if found.highest_with_garbage < limit or rise.rate <= 0:
        return float("inf")
    if found.lasts_s <= 0:
        # The maximum number is waiting: only garbage is added now, and that slows down.
        return straight if straight <= CLOSE_S else float("inf")
    # The mean of two predictions, by the memory per query so far and recently: earlier garbage hides that of the first
    # ones.
    reached = (found.highest + rise.now + rise.rate * found.lasts_s) / 2
    left = max(0.0, limit - max(rise.now, reached))
    return found.lasts_s + left / (GARBAGE_RATE * rise.rate)


def _small(rise: Growth, limit: float) -> bool:
    return rise.seconds < LEAK_LEAST_S or rise.risen < max(LEAST_RISE * limit, 2 << 20)


def may_fill(snapshot: Snapshot) -> bool:
    """For a narrow snapshot: false if nothing was killed, and memory does not grow enough to predict when it fills."""
    memory = read(snapshot)
    if memory is None or not np.isfinite(memory.limit_bytes):
        return False
    for life in lives(memory):
        limit = float(memory.limit[min(life.end, snapshot.ticks) - 1])
        rise = growth(memory.net, life, snapshot.step_us)
        if life.killed or (rise is not None and not _small(rise, limit)):
            return True
    return False


def of_growth(snapshot: Snapshot, memory: Memory, rise: Growth, limit: float) -> Alarm | NoAlarm:
    """A straight line that reaches `limit` bytes soon, relative to how long it was seen."""
    seconds = rise.time_to(limit)
    numbers = {"used_bytes": rise.now, "limit_bytes": limit, "grown_s": rise.seconds, "rate_bytes_per_s": rise.rate}
    if _small(rise, limit):
        return NoAlarm(f"Memory has grown by only {rise.risen / (1 << 20):,.1f} MiB.", numbers)
    if rise.steadiness < STEADY or rise.rate <= 0 or rise.rates[0] <= 0.3 * rise.rates[1]:
        return NoAlarm(f"Memory does not grow steadily (R² {rise.steadiness:.2f}).", numbers)
    horizon = rise.seconds
    if _started(snapshot, rise):
        horizon /= 2
    elif rise.seconds >= LONG_S and rise.steadiness >= VERY_STEADY:
        horizon *= LONG_TIMES
    if seconds > horizon:
        return NoAlarm(f"At this rate its limit is {seconds:,.0f} s away; the growth was seen for {rise.seconds:,.0f} "
                       "s.", numbers)  # fmt: skip
    if (times := _garbage(snapshot, memory, rise)) is not None:
        return NoAlarm(f"It might be garbage: the GC runs when the Go heap is {times:.1f} times what it was.", numbers)
    return _alarm(rise, limit, seconds)


def _alarm(rise: Growth, limit: float, seconds: float) -> Alarm:
    """With an interval from the slowest and the fastest part of the rise, at least a quarter wide."""
    slow, fast = rise.rates
    left = max(0.0, limit - rise.now)
    low = min(0.8 * seconds, left / fast if fast > 0 else seconds)
    high = max(1.25 * seconds, min(3 * seconds, left / slow if slow > 0 else 3 * seconds))
    return Alarm(rise.end, seconds, low, high)


def first_alarm(snapshot: Snapshot, memory: Memory, life: Life, limit: float, *, by_queries: bool) -> Alarm | None:
    """The earliest prediction in a life, from what was known then; None: no prediction before its end."""
    length = life.end - life.start
    whole = growth(memory.net, life, snapshot.step_us)
    if whole is None:
        return None
    begin = max(life.start + 3, whole.onset)
    for end in range(begin, life.end, max(1, length // 300)):
        so_far = replace(life, end=end, killed=False)
        said: Alarm | NoAlarm | None = None
        if by_queries:
            found = burst_until(snapshot, memory, life, end)
            said = of_burst(found, limit) if isinstance(found, Burst) else None
        elif (rise := growth(memory.net, so_far, snapshot.step_us)) is not None:
            said = of_growth(snapshot, memory, rise, limit)
        if isinstance(said, Alarm):
            return said
    return None


def _started(snapshot: Snapshot, rise: Growth) -> bool:
    """Whether a process of the cgroup started shortly before or in the first half of the rise."""
    begin = snapshot.start_us + rise.onset * snapshot.step_us
    middle = begin + rise.seconds * 5e5
    return any(
        event.kind == STARTED and begin - 5_000_000 <= event.start_us <= middle
        for process in snapshot.processes
        for event in process.events
    )


def _garbage(snapshot: Snapshot, memory: Memory, rise: Growth) -> float | None:
    """The multiple of its size that the Go heap can reach before GC, if no cycle in the rise shows more.

    Between two cycles, a heap at GOGC=100 doubles without any leak. Memory that keeps rising after a cycle is not
    garbage.
    """
    for process in snapshot.processes:
        percent = golang.gogc(process)
        cycles = _cycles(snapshot, process)
        if process.fact("go.version") is None or percent is None or cycles is None:
            continue
        factor = 1 + percent / 100
        inside = cycles[(cycles >= rise.onset) & (cycles < rise.end)]
        went_on = len(inside) > 0 and rise.now - float(memory.net[inside[0]]) >= WENT_ON * rise.risen
        if not went_on and rise.now < 1.1 * factor * rise.base:
            return factor
    return None


def _cycles(snapshot: Snapshot, process: ResourceView) -> IntArray | None:
    """Ticks in which a cycle ended; None if not counted."""
    events = [e.end_us for e in process.events if e.kind == "go.gc_cycle"]
    if has(process, "gc_cycles"):
        return np.flatnonzero(np.nan_to_num(series(process, "gc_cycles", snapshot.ticks)) > 0)
    if events or has(process, "gc_active_us"):
        return (np.array(sorted(events), dtype=np.int64) - snapshot.start_us) // snapshot.step_us
    return None
