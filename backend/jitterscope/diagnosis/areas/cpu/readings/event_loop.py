"""A process that does its work in one thread: when that thread was busy for long, and which answers waited for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.readings import run_waits
from jitterscope.diagnosis.core import held_up
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.served import metric, read_served
from jitterscope.diagnosis.core.signals import has, number, read_cpu, series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, Coincidence, coincidence, dilate
from jitterscope.diagnosis.programs.event_loops import EventLoop, event_loop

# A single busy thread uses at least FULL of a CPU; several threads at once use more than MOST.
FULL, MOST = 0.85, 1.4
# A block shorter than a tick shows as a tick with this share, and twice the baseline.
PARTLY, TIMES_USUAL = 0.4, 2.0
# An answer waited for the thread if it ran for this share of the answer's time.
RAN = 0.8
# A request that is read at once waits for microseconds.
WAIT_US = 5_000
# From this share of busy ticks on, the thread is saturated rather than blocked now and then.
SATURATED = 0.7


@dataclass(frozen=True, slots=True)
class Loop:
    """`busy`: ticks in which its thread worked throughout, or for far longer than usual; `used_us` per tick.

    `throttled`: busy ticks near a throttled period; `idle`: idle CPUs of the node in busy ticks; `collecting`: share of
    the busy CPU time in which its runtime stopped for GC; `delayed`: how long its threads waited for a CPU then,
    relative to what they used (both NaN if not recorded).
    """

    process: ResourceView
    kind: EventLoop
    used_us: FloatArray
    busy: BoolArray
    throttled: BoolArray
    idle: float
    collecting: float
    delayed: float

    @property
    def share(self) -> float:
        return float(self.busy.mean())

    @property
    def saturated(self) -> bool:
        return self.share >= SATURATED

    def mean(self, step_us: int) -> float:
        """CPUs in use in busy ticks."""
        return float(np.nanmean(self.used_us[self.busy])) / step_us

    def longest_us(self, step_us: int) -> float:
        """The longest run of busy ticks, as CPU time of the thread."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.busy.astype(np.int8), [0]])))
        return max((float(np.nansum(self.used_us[a:b])) for a, b in edges.reshape(-1, 2)), default=0.0)


@dataclass(frozen=True, slots=True)
class Blocked:
    """Late answers (`of`) during which the thread ran for at least 0.8 of their time; slow answers in busy ticks.

    Also requests in busy ticks that waited unread for over 5 ms (None: not recorded).
    """

    hits: int
    of: int
    together: Coincidence
    waits: float | None
    longest_wait_us: float


@reading
def read_loops(snapshot: Snapshot) -> tuple[Loop, ...]:
    """Processes with one worker thread whose CPU time was recorded, the busiest first."""
    found = []
    for process in snapshot.processes:
        kind = event_loop(process)
        if kind is not None and has(process, "process_cpu_us"):
            found.append(_loop(snapshot, process, kind))
    return tuple(sorted(found, key=lambda one: (-float(np.nansum(one.used_us)), one.process.id)))


def _loop(snapshot: Snapshot, process: ResourceView, kind: EventLoop) -> Loop:
    n, step = snapshot.ticks, snapshot.step_us
    used = series(process, "process_cpu_us", n)
    known = used[np.isfinite(used)]
    usual = float(np.median(known)) if len(known) else 0.0
    full = np.nan_to_num(used) >= FULL * step
    busy = full | (np.nan_to_num(used) >= max(PARTLY * step, TIMES_USUAL * usual))
    throttled = np.zeros(n, dtype=np.bool_)
    for view in (snapshot.subject, *snapshot.ancestors):
        throttled |= np.nan_to_num(series(view, "cpu_throttled_periods", n)) > 0
    idle = series(snapshot.node, "host_idle_us", n)[busy]
    stopped = next((series(process, name, n) for name in ("gc_pause_us", "gc_active_us") if has(process, name)), None)
    spent = float(np.nansum(used[busy]))
    return Loop(
        process, kind, used, busy, busy & dilate(throttled, read_cpu(snapshot).lag, 1),
        float(np.nanmean(idle)) / step if np.isfinite(idle).any() else math.nan,
        math.nan if stopped is None else float(np.nansum(stopped[busy])) / max(1.0, spent),
        float(np.nansum(series(process, run_waits.RUN_DELAY, n)[dilate(busy, 0, 1)])) / max(1.0, spent)
        if has(process, run_waits.RUN_DELAY)
        else math.nan,
    )  # fmt: skip


def blocked(snapshot: Snapshot, loop: Loop, late_us: float) -> Blocked:
    begun, took = held_up.late_answers(snapshot, late_us)
    count = np.concatenate([[0.0], np.cumsum(np.where(loop.busy, np.nan_to_num(loop.used_us), 0.0))])
    first = np.clip((begun - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    last = np.clip((begun + took - snapshot.start_us) // snapshot.step_us, 0, snapshot.ticks - 1)
    hits = int(((count[last + 1] - count[first]) >= RAN * took).sum())
    slow = np.nan_to_num(read_served(snapshot).slow) > 0
    waits, longest = _waits(snapshot, dilate(loop.busy, 0, 1))
    return Blocked(hits, len(took), coincidence(slow, dilate(loop.busy, 0, 1)), waits, longest)


def _waits(snapshot: Snapshot, ticks: BoolArray) -> tuple[float | None, float]:
    """(requests in these ticks that waited unread for over 5 ms, the longest of these waits in µs)."""
    parts = [
        part
        for server in read_served(snapshot).servers
        if (part := server.distributions.get(metric(server, "wait"))) is not None
    ]
    if not parts:
        return None, 0.0
    waited, longest = 0.0, 0.0
    for part in parts:
        value = value_of(part.bucket)
        chosen = (value > WAIT_US) & ticks[part.tick]
        waited += float(part.count[chosen].sum())
        longest = max(longest, float(value[chosen].max()) if chosen.any() else 0.0)
    return waited, longest


def cost_ratio(snapshot: Snapshot, loop: Loop) -> float:
    """CPU time per request in busy ticks relative to other times; NaN if either has too few requests."""
    asked = read_served(snapshot).answers
    rates = []
    for ticks in (loop.busy, ~loop.busy):
        known = ticks & np.isfinite(asked) & np.isfinite(loop.used_us)
        if float(asked[known].sum()) < 20:
            return math.nan
        rates.append(float(loop.used_us[known].sum()) / float(asked[known].sum()))
    return rates[0] / rates[1] if rates[1] > 0 else math.nan


def cpus(snapshot: Snapshot) -> float | None:
    """CPUs of the node."""
    return number(snapshot.node.fact("node.cpus"))
