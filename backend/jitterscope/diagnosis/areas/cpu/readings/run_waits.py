"""Time that threads of the subject were runnable but did not run, and what used the node's CPUs meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from jitterscope.diagnosis.core.held_up import HeldUp
from jitterscope.diagnosis.core.held_up import held_up as held_up_by
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import added_up, has, number, read_cpu, series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

RUN_DELAY, PRESSURE = "process_run_delay_us", "psi_cpu_some_us"
# What `may_wait` reads.
SIGNS = (RUN_DELAY, PRESSURE)
# Threads of a healthy server wait for microseconds; this much in a tick can delay an answer.
WAIT_US = 10_000


@dataclass(frozen=True, slots=True)
class RunWaits:
    """Per tick. `waited_us` is counted when a thread finally runs, or (pressure) while it waits; NaN: not recorded.

    `hot`: ticks with over 10 ms of it; `throttled`: ticks around a throttled period of the subject or an ancestor, in
    which a thread that waits for quota counts as runnable; `spans`: the time of the hot ticks that are not throttled,
    back to the latest possible start of their waits.
    """

    source: Literal["run_delay", "pressure"]
    views: tuple[ResourceView, ...]
    waited_us: FloatArray
    hot: BoolArray
    throttled: BoolArray
    spans: BoolArray

    @property
    def metric(self) -> str:
        return RUN_DELAY if self.source == "run_delay" else PRESSURE

    @property
    def free(self) -> BoolArray:
        return np.asarray(self.hot & ~self.throttled)

    def total_us(self, ticks: BoolArray) -> float:
        return float(np.nansum(self.waited_us[ticks]))


@dataclass(frozen=True, slots=True)
class CpuUse:
    """Shares (0..1) of the time of the node's `cpus` in these ticks of waits; they add up to 1.

    A wait can be shorter than its ticks, with idle CPUs in the rest of them. `idle_waiting` is a lower bound for the
    idle share of the waiting itself, `others_waiting` an upper bound for the share that others used.
    """

    ticks: BoolArray
    cpus: float
    idle_waiting: float
    others_waiting: float
    own: float
    others: float
    idle: float
    stolen: float
    interrupts: float


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another cgroup of the node: `used` is its share of the node's CPU time, `cpus` the same in CPUs."""

    view: ResourceView
    used: float
    cpus: float


@reading
def read_waits(snapshot: Snapshot) -> RunWaits | None:
    """From the run delay of the subject's processes, else from its CPU pressure; None if neither was recorded."""
    processes = _recorded(snapshot)
    if processes:
        threads = sum(_threads(view) for view in processes)
        return _waits(
            snapshot, "run_delay", processes, added_up(processes, RUN_DELAY, snapshot.ticks), max(1.0, threads)
        )
    if has(snapshot.subject, PRESSURE):
        waited = series(snapshot.subject, PRESSURE, snapshot.ticks)
        return _waits(snapshot, "pressure", (snapshot.subject,), waited, 1.0)
    return None


def may_wait(snapshot: Snapshot, least_us: float) -> bool:
    """A sign: threads waited for at least so long in the hot ticks of `read_waits`; it reads SIGNS."""
    processes = _recorded(snapshot)
    waited = (
        added_up(processes, RUN_DELAY, snapshot.ticks)
        if processes
        else series(snapshot.subject, PRESSURE, snapshot.ticks)
    )
    return float(np.nansum(waited[np.nan_to_num(waited) >= WAIT_US])) >= least_us


def _recorded(snapshot: Snapshot) -> tuple[ResourceView, ...]:
    return tuple(view for view in snapshot.processes if has(view, RUN_DELAY))


def _threads(view: ResourceView) -> float:
    known = view.series.get("process_threads")
    return float(np.nanmax(known)) if known is not None and np.isfinite(known).any() else 1.0


def _waits(
    snapshot: Snapshot,
    source: Literal["run_delay", "pressure"],
    views: tuple[ResourceView, ...],
    waited: FloatArray,
    at_once: float,
) -> RunWaits:
    hot = np.nan_to_num(waited) >= WAIT_US
    throttled = np.zeros(snapshot.ticks, dtype=np.bool_)
    for view in (snapshot.subject, *snapshot.ancestors):
        for name in ("cpu_throttled_periods", "cpu_throttled_local_us"):
            throttled |= np.nan_to_num(series(view, name, snapshot.ticks)) > 0
    throttled = dilate(throttled, read_cpu(snapshot).lag, 1)
    spans = np.zeros(snapshot.ticks, dtype=np.bool_)
    for tick in np.flatnonzero(hot & ~throttled):
        # However many threads shared the waiting, it began at least this long ago.
        spans[max(0, int(tick - waited[tick] / at_once // snapshot.step_us)) : tick + 1] = True
    return RunWaits(source, views, waited, hot, throttled, spans & ~throttled)


def starvation(snapshot: Snapshot, waits: RunWaits) -> float:
    """Waiting as a share (0..1) of the time that threads wanted a CPU, in the spans; NaN without their CPU use."""
    used = float(np.nansum(series(snapshot.subject, "cpu_usage_us", snapshot.ticks)[waits.spans]))
    waited = waits.total_us(waits.spans)
    return waited / (waited + used) if waited + used > 0 else float("nan")


def cpu_use(snapshot: Snapshot, waits: RunWaits, ticks: BoolArray) -> CpuUse | None:
    """Use of the node's CPUs in these ticks of the spans; None if their number, idle time, or the use is unknown."""
    cpus = number(snapshot.node.fact("node.cpus"))
    own, idle = series(snapshot.subject, "cpu_usage_us", snapshot.ticks), _of_node(snapshot, "host_idle_us")
    known = ticks & waits.spans & np.isfinite(own) & np.isfinite(idle)
    if not cpus or not known.any():
        return None
    ticks_us = snapshot.step_us * float(known.sum())

    def share(values: FloatArray) -> float:
        return min(1.0, float(np.nansum(values[known])) / (cpus * ticks_us))

    # Cgroups with SCHED_IDLE's weight only run on otherwise idle CPUs.
    polite = (series(view, "cpu_usage_us", snapshot.ticks) for view in snapshot.cgroups if _gives_way(view))
    giving_way = sum(map(np.nan_to_num, polite), start=np.zeros(snapshot.ticks))
    unused = share(idle + np.nan_to_num(_of_node(snapshot, "host_iowait_us")) + giving_way)
    stolen, interrupts = (share(_of_node(snapshot, name)) for name in ("host_steal_us", "host_irq_us"))
    used = share(own)
    others = max(0.0, 1.0 - unused - stolen - interrupts - used)
    # Waits of several threads at once are counted one after the other: that makes the waiting longer, not shorter.
    waiting = min(1.0, waits.total_us(waits.free & ticks) / ticks_us)
    return CpuUse(
        ticks, cpus, max(0.0, unused - (1 - waiting)) / waiting, min(1.0, others / waiting),
        used, others, unused, stolen, interrupts,
    )  # fmt: skip


def own_share(snapshot: Snapshot, time_us: FloatArray) -> float:
    """The largest possible share of the subject in the node's CPU time in these µs of each tick.

    All its use in such a tick counts. NaN without any such time, or if the number of CPUs or the use is unknown.
    """
    cpus = number(snapshot.node.fact("node.cpus"))
    own = series(snapshot.subject, "cpu_usage_us", snapshot.ticks)
    known = (time_us > 0) & np.isfinite(own)
    if not cpus or not known.any():
        return math.nan
    return float(own[known].sum()) / (cpus * float(time_us[known].sum()))


def _of_node(snapshot: Snapshot, name: str) -> FloatArray:
    return series(snapshot.node, name, snapshot.ticks)


def _gives_way(view: ResourceView) -> bool:
    """A cgroup with `cpu.idle` takes no CPU time from others that want it."""
    return view.fact("cpu.weight") == "idle"


def neighbours(snapshot: Snapshot, ticks: BoolArray) -> list[Neighbour]:
    """The node's other known cgroups that used CPU in these ticks, by their use."""
    cpus = number(snapshot.node.fact("node.cpus")) or math.nan
    seconds = float(ticks.sum()) * snapshot.step_us
    found = []
    for view in (one for one in snapshot.cgroups if not _gives_way(one)):
        used = float(np.nansum(series(view, "cpu_usage_us", snapshot.ticks)[ticks])) / max(1.0, seconds)
        if used >= 0.01:
            found.append(Neighbour(view, used / cpus, used))
    return sorted(found, key=lambda one: (-one.used, one.view.id))


def held_up(snapshot: Snapshot, waits: RunWaits, late_us: float) -> HeldUp:
    """Late answers explained by waiting that no limit caused, beyond what threads on a busy node always wait."""
    free = np.where(waits.throttled & np.isfinite(waits.waited_us), 0.0, waits.waited_us)
    return held_up_by(snapshot, free, late_us, usual=True)


def pinned(snapshot: Snapshot) -> float | None:
    """The number of CPUs that the subject's processes can run on, if fewer than the node has."""
    cpus = number(snapshot.node.fact("node.cpus"))
    allowed = [value for view in snapshot.processes if (value := number(view.fact("process.affinity_cpus")))]
    return max(allowed) if allowed and cpus and max(allowed) < cpus else None
