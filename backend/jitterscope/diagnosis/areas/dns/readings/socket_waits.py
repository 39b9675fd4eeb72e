"""Queries that wait in a server's receive queue: when, how long, and whether it had CPU left meanwhile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core import signals
from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.signals import Cpu, number, own_limit, read_cpu, series
from jitterscope.diagnosis.core.sketch import value_of
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate
from jitterscope.diagnosis.programs import golang

# A significant wait: reading takes microseconds.
WAIT_US = 5_000
# A reader that queries wait for uses about one CPU; other threads work beside it.
READING = 0.3
# This share of the ticks without waits shows which rates the reader keeps up with; fewer ticks are not enough.
KEPT_UP, LEAST_QUIET_TICKS = 0.95, 20


@dataclass(frozen=True, slots=True)
class Waits:
    """Per tick: `waits` queries that waited over 5 ms in the queue, `slow` over 20 ms, `longest_us` the longest wait.

    `wait_us` and `work_us` are the waiting and processing times of all queries of a tick. `explained` are the ticks in
    which the CPU was throttled or a garbage collection ran. `held_up` are those whose queries waited for a server that
    hardly ran meanwhile (stopped, blocked, not scheduled), unlike a reader that is too slow, which is busy, or that
    reads as many elsewhere without any waiting.
    """

    waits: FloatArray
    slow: FloatArray
    longest_us: FloatArray
    wait_us: FloatArray
    work_us: FloatArray
    explained: BoolArray
    held_up: BoolArray

    @property
    def free(self) -> BoolArray:
        """Ticks with waits that nothing else explains."""
        return np.asarray((self.waits > 0) & ~self.explained & ~self.held_up)


def measure(snapshot: Snapshot, server: ResourceView) -> Waits:
    """From the histograms dns_queue_wait_us and dns_work_us of one server."""
    n = snapshot.ticks
    waits, slow, longest, wait, work = (np.zeros(n) for _ in range(5))
    if (part := server.distributions.get("dns_queue_wait_us")) is not None:
        value = value_of(part.bucket)
        np.add.at(wait, part.tick, value * part.count)
        over = value > WAIT_US
        np.add.at(waits, part.tick[over], part.count[over])
        np.add.at(slow, part.tick[value > SLOW_US], part.count[value > SLOW_US])
        np.maximum.at(longest, part.tick, value)
    if (part := server.distributions.get("dns_work_us")) is not None:
        np.add.at(work, part.tick, value_of(part.bucket) * part.count)
    cpu = read_cpu(snapshot)
    held_up = _idle(snapshot, cpu, longest) | _kept_up(snapshot, server, waits, longest)
    return Waits(waits, slow, longest, wait, work, _explained(snapshot, cpu), held_up)


def _idle(snapshot: Snapshot, cpu: Cpu, longest_us: FloatArray) -> BoolArray:
    """Ticks whose longest wait is long compared with the CPU time used since it began."""
    usage = np.nan_to_num(cpu.usage_us, nan=np.inf)
    idle = np.zeros(snapshot.ticks, dtype=np.bool_)
    for tick in np.flatnonzero(longest_us > WAIT_US):
        first = max(0, int(tick - longest_us[tick] // snapshot.step_us))
        idle[tick] = usage[first : tick + 1].sum() < READING * longest_us[tick]
    return idle


def _kept_up(snapshot: Snapshot, server: ResourceView, waits: FloatArray, longest_us: FloatArray) -> BoolArray:
    """Ticks with waits during which no tick had more queries than the reader handled elsewhere without any wait."""
    asked = series(server, "dns_queries", snapshot.ticks)
    found = np.zeros(snapshot.ticks, dtype=np.bool_)
    quiet = asked[(waits == 0) & (asked > 0)]
    if len(quiet) < LEAST_QUIET_TICKS:
        return found
    most = float(np.quantile(quiet, KEPT_UP))
    for tick in np.flatnonzero(waits > 0):
        first = max(0, int(tick - longest_us[tick] // snapshot.step_us - 1))
        found[tick] = np.nan_to_num(asked[first : tick + 1], nan=np.inf).max() <= most
    return found


def _explained(snapshot: Snapshot, cpu: Cpu) -> BoolArray:
    # The counter moves when the period ends, and waiting queries are read just after.
    taken = dilate(np.nan_to_num(cpu.throttled) > 0, cpu.lag, 2)
    for process in snapshot.processes:
        active = np.nan_to_num(series(process, "gc_active_us", snapshot.ticks)) > 0.05 * snapshot.step_us
        if active.mean() < 0.5:  # a server that collects all the time is not explained by GC
            taken |= dilate(active, 0, 1)
    return taken


def cpus(snapshot: Snapshot) -> float:
    """CPUs that the server can use at once: limit, GOMAXPROCS, and the node's; NaN if none of them is known."""
    limit = read_cpu(snapshot).limit
    node = number(snapshot.node.fact("node.cpus"))
    found = [limit] if math.isfinite(limit) else []
    found += [node] if node else []
    serving = signals.serving(snapshot)
    for process in snapshot.processes:
        if process.id in serving and process.fact("go.version") is not None:
            procs = golang.maxprocs(process, own_limit(snapshot), node).value
            found += [float(procs)] if procs else []
    return min(found, default=float("nan"))


def busy(snapshot: Snapshot, waits: Waits, capacity: float) -> float:
    """Share of the CPUs in use while queries waited, 0..1 (median over ticks); NaN if CPU use is unknown.

    A queue that is empty again after 40 ms is compared with the CPU time of 40 ms, not of the whole tick. If queries
    arrive one after the other, it takes longer than the longest of them waits: a server with fewer threads than CPUs
    worked for at least its CPU time divided by its threads.
    """
    usage = read_cpu(snapshot).usage_us
    ticks = waits.free & np.isfinite(usage)
    if not ticks.any() or not math.isfinite(capacity):
        return float("nan")
    worked = _worked(snapshot, capacity)[ticks]
    lasted = np.clip(np.maximum(waits.longest_us[ticks], worked), WAIT_US, snapshot.step_us)
    return float(np.median(np.minimum(1.0, usage[ticks] / (capacity * lasted))))


def _worked(snapshot: Snapshot, capacity: float) -> FloatArray:
    """Minimum time (µs) of a tick for which a process of the subject ran; 0: its CPU time or threads are unknown."""
    worked = np.zeros(snapshot.ticks)
    for process in snapshot.processes:
        threads = series(process, "process_threads", snapshot.ticks)
        if np.isfinite(threads).any():
            at_once = min(max(1.0, float(np.nanmax(threads))), capacity)
            worked = np.fmax(worked, series(process, "process_cpu_us", snapshot.ticks) / at_once)
    return worked


def node_idle(snapshot: Snapshot, ticks: BoolArray) -> float:
    """Share of the node's CPU time that was idle in these ticks, 0..1; NaN if that was not recorded."""
    idle = series(snapshot.node, "host_idle_us", snapshot.ticks)[ticks]
    count = number(snapshot.node.fact("node.cpus"))
    if not count or not np.isfinite(idle).any():
        return float("nan")
    return float(np.nanmedian(idle)) / (count * snapshot.step_us)


def waited_for_cpu(snapshot: Snapshot, waits: Waits) -> float:
    """Share of the queue's time in which a task of the subject waited for a CPU, 0..1; NaN if that is unknown.

    Of each tick's longest wait, by pressure (PSI); ticks are weighted by their waits.
    """
    pressure = series(snapshot.subject, "psi_cpu_some_us", snapshot.ticks)
    ticks = waits.free & np.isfinite(pressure)
    if not ticks.any():
        return float("nan")
    share = np.minimum(1.0, pressure[ticks] / np.maximum(waits.longest_us[ticks], WAIT_US))
    return float(np.average(share, weights=waits.waits[ticks]))
