"""Telemetry of a simulated container for the scenarios of the causes: CFS quota, Go GC, queries, a batch job.

Seeded, so that a scenario is the same everywhere. It advances in steps of 5 ms and counts on the 100 ms grid like the
kernel and the collector: nr_throttled rises when a period ends, throttled time is credited when throttling ends. Costs
are those measured on the recordings of case 1: 0.2 ms of CPU and 26 KB per query, 1.1 ms of GC per live MB.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.severity import SLOW_US
from jitterscope.diagnosis.core.snapshot import Event, FloatArray, Snapshot
from jitterscope.diagnosis.scenarios.cpu.views import snapshot_of
from jitterscope.diagnosis.scenarios.cpu.workload import COLLECTORS, MB, Workload
from jitterscope.diagnosis.scenarios.telemetry import EPOCH_US, TICK_US

STEP_US = 5_000
BOOT_S = 3.0


@dataclass(frozen=True, slots=True)
class Run:
    """The result: the snapshot and its ground truth."""

    snapshot: Snapshot
    throttled_periods: int
    gc_cycles: int
    slow_queries: int


def simulate(load: Workload) -> Run:
    machine = _Machine(load)
    for index in range(int(load.seconds * 1_000_000) // STEP_US):
        machine.step(index * STEP_US)
    return machine.result()


class _Machine:
    """State of one run; times are µs since its start."""

    def __init__(self, load: Workload) -> None:
        self.load = load
        self.random = np.random.default_rng(load.seed)
        ticks = int(load.seconds * 1_000_000) // TICK_US
        names = (
            "cpu_usage_us", "cpu_periods", "cpu_throttled_periods", "cpu_throttled_us", "gc_active", "server_us",
            "gc_cpu_us", "jit_cpu_us", "job_us", "queries", "answers", "slow",
        )  # fmt: skip
        # Lists: adding to one number of an array takes three times as long.
        self.columns: dict[str, list[float]] = {name: [0.0] * ticks for name in names}
        self.waiting: deque[list[float]] = deque()  # [arrived_us, work left]
        self.work_us = 0.0  # of all waiting queries
        self.answered: list[tuple[int, int]] = []
        self.budget = float(load.quota_us or 0)
        self.saved = float(load.burst_us)
        self.period_end = float(self.random.integers(STEP_US, load.period_us))
        self.throttled_since: float | None = None
        self.heap_mb = load.live_mb * 1.4
        self.gc_left_us = 0.0
        self.gc_began_us = 0.0
        self.cycles: list[Event] = []
        self.job_left_us = 0.0
        self.next_job_us = load.job[0] * 0.6e6 if load.job else float("inf")
        self.arrivals = 0.0
        steps = range(0, int(load.seconds * 1_000_000), STEP_US)
        self.hiccups = {now for at, seconds in load.hiccups for now in steps if at * 1e6 <= now < (at + seconds) * 1e6}
        self.job_starts: list[Event] = []
        self.compiles = deque(sorted(load.compiles))
        # What the server's other threads still have to do, by the column that counts it.
        self.beside_left_us = {"jit_cpu_us": 0.0, "gc_cpu_us": 0.0}

    def step(self, now: int) -> None:
        tick = now // TICK_US
        if now >= self.period_end:
            self._new_period(tick)
        self._arrive(now, tick)
        self._start_jobs(now)
        while self.compiles and now >= self.compiles[0][0] * 1e6:
            self.beside_left_us["jit_cpu_us"] += self.compiles.popleft()[1] * 1e6
        room = 0.0 if now in self.hiccups else float(self.load.gomaxprocs * STEP_US)
        work = self.work_us
        demand = work + self.gc_left_us + self.job_left_us + sum(self.beside_left_us.values())
        if self.load.job is not None:
            room = min(float(self.load.node_cpus * STEP_US), room + STEP_US) if room else 0.0
        if self.load.quota_us is not None:
            if room and demand > self.budget and self.budget < room and self.throttled_since is None:
                self.throttled_since = now + self.budget / self.load.gomaxprocs
            room = min(room, self.budget)
        used = self._run(now, tick, room, work)
        self.budget -= used
        if self.gc_left_us > 0 or (self.cycles and self.cycles[-1].end_us > EPOCH_US + now):
            self.columns["gc_active"][tick] += STEP_US

    def _new_period(self, tick: int) -> None:
        load, columns = self.load, self.columns
        if load.quota_us is None:
            self.period_end = float("inf")
            return
        columns["cpu_periods"][tick] += 1
        if self.throttled_since is not None:
            columns["cpu_throttled_periods"][tick] += 1
            # Summed over run queues, credited now.
            columns["cpu_throttled_us"][tick] += (self.period_end - self.throttled_since) * 1.5
            self.throttled_since = None
        self.saved = min(float(load.burst_us), max(0.0, self.budget))
        self.budget = load.quota_us + self.saved
        self.period_end += load.period_us

    def _arrive(self, now: int, tick: int) -> None:
        rate = self.load.qps
        for start, seconds, qps in self.load.bursts:
            if start * 1e6 <= now < (start + seconds) * 1e6:
                rate = qps
        since_us = 0.0
        if self.load.starts_s is not None:
            since_us = now - (self.load.starts_s + BOOT_S) * 1e6
            rate = rate if since_us >= 0 else 0.0
        factor, tau_s = self.load.cold
        cost_us = self.load.query_us * (1 + (factor - 1) * math.exp(-max(0.0, since_us) / 1e6 / tau_s))
        if self.load.serves is None:
            # Work that is not counted.
            self._wait(now, rate * STEP_US / 1e6 * cost_us)
            return
        self.arrivals += rate * STEP_US / 1e6
        while self.arrivals >= 1:
            self.arrivals -= 1
            self.columns["queries"][tick] += 1
            # A full socket buffer drops datagrams.
            if len(self.waiting) < 4000:
                work = cost_us * (0.9 + 0.2 * self.random.random())
                self._wait(now + STEP_US * self.random.random(), work)

    def _wait(self, arrived: float, work: float) -> None:
        self.waiting.append([arrived, work])
        self.work_us += work

    def _start_jobs(self, now: int) -> None:
        if self.load.job and now >= self.next_job_us:
            self.job_left_us += self.load.job[1] * 1e6
            self.job_starts.append(Event("process.start", EPOCH_US + now))
            self.next_job_us += self.load.job[0] * 1e6 * (0.97 + 0.06 * self.random.random())
        if not (self.load.is_go or self.load.runtime) or self.gc_left_us > 0:
            return
        live, goal = self.load.live_mb, float("inf")
        if self.load.gogc is not None:
            goal = max(4.0, live * (1 + self.load.gogc / 100))
        if self.load.gomemlimit_mb is not None:
            goal = min(goal, max(self.load.gomemlimit_mb, live * 1.01))
        if self.heap_mb >= goal:
            self.gc_left_us = max(2_000.0, live * self.load.gc_us_per_mb * (0.9 + 0.3 * self.random.random()))
            self.gc_began_us = float(now)

    def _run(self, now: int, tick: int, room: float, work: float) -> float:
        """Share `room` µs of CPU between job, GC, and queries, whose `work` µs wait; returns the time used."""
        load, columns, start = self.load, self.columns, room
        job = min(self.job_left_us, STEP_US, room / (2 if self.waiting or self.gc_left_us else 1))
        self.job_left_us -= job
        room -= job
        columns["job_us"][tick] += job
        beside = 0.0
        for column, left in self.beside_left_us.items():
            part = min(left, STEP_US, room / (2 if self.waiting or self.gc_left_us else 1))
            self.beside_left_us[column] -= part
            columns[column][tick] += part
            beside += part
            room -= part
        # GC takes a quarter, idle CPUs, and the GC assist of allocating queries: about half while queries wait.
        gc = min(self.gc_left_us, room if work <= 0 else max(0.5 * room, room - work))
        if load.runtime:
            # It stops the program: queries wait until it ends, whatever CPU is free.
            gc = min(self.gc_left_us, room, float(load.gc_threads * STEP_US))
        if self.gc_left_us > 0:
            self.gc_left_us -= gc
            room -= gc
            columns["gc_cpu_us"][tick] += gc
            if self.gc_left_us <= 0:
                self.heap_mb = load.live_mb
                self.beside_left_us["gc_cpu_us"] += load.marks_s * 1e6
                begin = EPOCH_US + int(self.gc_began_us)
                length = now + STEP_US - int(self.gc_began_us)
                self.cycles.append(_cycle(load, begin, length))
            elif load.runtime:
                room, start = 0.0, start - room
        queries = 0.0
        while self.waiting and room > 0:
            item = self.waiting[0]
            part = min(item[1], room)
            item[1] -= part
            room -= part
            queries += part
            if item[1] <= 0:
                self.waiting.popleft()
                self._answer(item[0], now + STEP_US * min(1.0, (start - room) / max(start, 1.0)), tick)
        self.work_us = self.work_us - queries if self.waiting else 0.0
        columns["server_us"][tick] += beside + gc + queries
        columns["cpu_usage_us"][tick] += job + beside + gc + queries
        return start - room

    def _answer(self, arrived: float, done: float, tick: int) -> None:
        self.heap_mb += self.load.query_bytes / MB
        if self.load.serves is None:
            return
        latency = max(150.0, done - arrived - STEP_US * 0.9) if done - arrived < 2 * STEP_US else done - arrived
        latency += self.load.own_us
        if self.random.random() < self.load.stray_slow_ratio:
            latency += 30_000 + 60_000 * self.random.random()
        self.answered.append((EPOCH_US + int(arrived), int(latency)))
        self.columns["answers"][tick] += 1
        self.columns["slow"][tick] += latency > SLOW_US

    def result(self) -> Run:
        columns: dict[str, FloatArray] = {name: np.array(values, np.float64) for name, values in self.columns.items()}
        snapshot = snapshot_of(self.load, columns, self.cycles, self.job_starts, self.answered, self.random)
        return Run(
            snapshot,
            int(columns["cpu_throttled_periods"].sum()),
            len(self.cycles),
            int(columns["slow"].sum()),
        )


def _cycle(load: Workload, begin_us: int, length_us: int) -> Event:
    if not load.runtime:
        return Event("go.gc_cycle", begin_us, length_us, {"source": load.gc_source})
    source, collector = COLLECTORS[load.runtime]
    told = {"source": source, "collector": collector, "cause": "Allocation Failure", "pause_us": str(length_us)}
    return Event("gc.cycle", begin_us, length_us, told)
