"""The area `cpu`, as the timeline, verification, what-if and the UI see it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.areas.cpu.quantities import (
    GC_CYCLES_PER_MIN,
    IMPACT,
    RUN_DELAY_MS_PER_MIN,
    THROTTLED_MS_PER_MIN,
    THROTTLED_RATIO,
)
from jitterscope.diagnosis.areas.cpu.readings.run_waits import read_waits
from jitterscope.diagnosis.areas.cpu.whatif.answer import answer
from jitterscope.diagnosis.areas.cpu.whatif.change import predict_change
from jitterscope.diagnosis.core import answers, lanes
from jitterscope.diagnosis.core.area import Amounts, Area, Control, Lane, Line, Load, WatchedFact, WhatIf, measured
from jitterscope.diagnosis.core.events import runs
from jitterscope.diagnosis.core.gc import EVENTS, gc_source, read_gc
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.stats import dilate
from jitterscope.diagnosis.programs.gc_facts import RUNTIME
from jitterscope.diagnosis.programs.workload_facts import CPU_LIMIT, GO, NEIGHBOUR_CPU_LIMIT

_MINUTE_US = 60e6


def _minutes(snapshot: Snapshot, known: FloatArray) -> FloatArray:
    """Recorded time of each tick; NaN where there is none."""
    return np.where(np.isfinite(known), snapshot.step_us / _MINUTE_US, np.nan)


def _stalls(snapshot: Snapshot) -> FloatArray | None:
    """Where a run of throttled ticks begins; None where nobody counted throttling."""
    cpu = read_cpu(snapshot)
    source = cpu.throttled if np.isfinite(cpu.throttled).any() else cpu.throttled_us
    return runs(source, snapshot.step_us) if np.isfinite(source).any() else None


def _slow_answers(snapshot: Snapshot) -> Amounts | None:
    cpu, stalls = read_cpu(snapshot), _stalls(snapshot)
    # A counter of throttling moves when a period ends, and the answers that waited leave just after.
    throttled = (np.nan_to_num(cpu.throttled) > 0) | (np.nan_to_num(cpu.throttled_us) > 0)
    found = answers.slow_answers(snapshot, ~dilate(throttled, cpu.lag, 1))
    if found is None or stalls is None:
        return found
    # What delays them is not always throttling: an event loop that is busy is none.
    delayed = np.where(np.isfinite(stalls), throttled | (np.nan_to_num(found.part) > 0), np.nan)
    return replace(found, events=runs(delayed, snapshot.step_us))


def _throttled_time(snapshot: Snapshot) -> Amounts | None:
    cpu = read_cpu(snapshot)
    if not np.isfinite(cpu.throttled_us).any():
        return None
    return Amounts(cpu.throttled_us / 1000, _minutes(snapshot, cpu.usage_us), _stalls(snapshot))


def _throttled_periods(snapshot: Snapshot) -> Amounts | None:
    cpu = read_cpu(snapshot)
    if not (np.isfinite(cpu.throttled).any() and np.isfinite(cpu.periods).any()):
        return None
    return Amounts(cpu.throttled, cpu.periods, _stalls(snapshot))


def _run_delay(snapshot: Snapshot) -> Amounts | None:
    waits = read_waits(snapshot)
    if waits is None or waits.source != "run_delay":
        return None
    hot = np.where(np.isfinite(waits.waited_us), np.where(waits.hot, waits.waited_us, 0.0), np.nan)
    return Amounts(waits.waited_us / 1000, _minutes(snapshot, waits.waited_us), runs(hot, snapshot.step_us))


def _gc_cycles(snapshot: Snapshot) -> Amounts | None:
    """From a counter where a process has one, else from the events of cycles."""
    counters = [one.series["gc_cycles"] for one in snapshot.processes if "gc_cycles" in one.series]
    if counters:
        stack = np.stack(counters)
        cycles = np.where(np.isfinite(stack).any(axis=0), np.nansum(stack, axis=0), np.nan)
        return Amounts(cycles, _minutes(snapshot, read_cpu(snapshot).usage_us), cycles)
    watched = [process for process in read_gc(snapshot) if process.source != "unknown"]
    if not watched and not any(map(gc_source, snapshot.processes)):
        return None
    begun = [(process.cycles.start_us - snapshot.start_us) // snapshot.step_us for process in watched]
    ticks = np.concatenate(begun) if begun else np.zeros(0, dtype=np.int64)
    inside = ticks[(ticks >= 0) & (ticks < snapshot.ticks)]
    cycles = np.bincount(inside, minlength=snapshot.ticks).astype(np.float64)
    return Amounts(cycles, _minutes(snapshot, read_cpu(snapshot).usage_us), cycles)


def _cpus(snapshot: Snapshot) -> FloatArray | None:
    usage = read_cpu(snapshot).usage_us
    return usage / snapshot.step_us if np.isfinite(usage).any() else None


_CPU = ("cpu_throttled_periods", "cpu_throttled_us")
_GO_ONLY = "Go programs only."
AREA = Area(
    id="cpu",
    title="CPU",
    # CPU use against the limit, throttling, GC and requests are the timeline's own picture, drawn for every area.
    lanes=(
        Lane(
            "run_delay", "Threads waiting for a CPU, their time added up", "us",
            (Line("runnable, not running", "process_run_delay_us", "bars", hot=True, of="processes"),),
        ),
        lanes.NODE_CPU,
        lanes.HEAP,
    ),
    impact=IMPACT,
    measures=(
        replace(answers.SLOW_ANSWERS, needs=(*answers.SLOW_ANSWERS.needs, "dns_latency_us", *_CPU), read=_slow_answers),
        measured(THROTTLED_MS_PER_MIN, ("cpu_usage_us", *_CPU), _throttled_time),
        measured(THROTTLED_RATIO, ("cpu_periods", *_CPU), _throttled_periods, decides=False),
        measured(
            RUN_DELAY_MS_PER_MIN,
            ("process_run_delay_us", "process_threads", *_CPU), _run_delay, least=1_000.0,
        ),
        answers.P99,
        measured(
            GC_CYCLES_PER_MIN,
            ("cpu_usage_us", "gc_cycles", "gc_active_us", *EVENTS), _gc_cycles, decides=False,
        ),
    ),
    load=(
        *answers.bursts("cpu/request_burst"),
        *answers.SERVED,
        Load("cpu", "CPUs in use", ("cpu_usage_us",), _cpus, factor=2.0),
    ),
    facts=(
        *CPU_LIMIT,
        *NEIGHBOUR_CPU_LIMIT,
        WatchedFact("cpu.weight", "CPU weight", "subject", listed=False),
        WatchedFact("process.affinity_cpus", "CPUs a process may run on", "processes", listed=False),
        answers.MEMORY_LIMIT,
        *GO,
        *RUNTIME,
        answers.DNS_VERSION,
        answers.UDP_SOCKETS,
        answers.IMAGE,
        answers.COREFILE,
    ),
    whatifs=(
        WhatIf(
            "cpu",
            "CPU limit, burst and garbage collection",
            "Replays the recorded demand through another CPU limit, CFS period or burst, with other Go settings, or "
            "shared by more replicas.",
            (
                Control("cpu_limit", "CPU limit", "cpu", 0.01, 4096, off="no limit"),
                Control("period_us", "Period", "us", 1_000, 1_000_000),
                Control("burst_us", "Burst", "us", 0, hint="At most the quota: CPU limit times period."),
                Control("gomaxprocs", "GOMAXPROCS", "1", 1, 4096, hint=_GO_ONLY),
                Control("gogc", "GOGC", "%", 1, 100_000, hint=_GO_ONLY, off="off"),
                Control("gomemlimit_bytes", "GOMEMLIMIT", "bytes", 1 << 20, 1 << 50, hint=_GO_ONLY, off="none"),
                Control("replicas", "Replicas", "1", 1, 20, hint="For each one that ran: 1.5 for 3 pods instead of 2."),
            ),
            answer=answer,
            recorded_by="cpu_usage_us",
        ),
    ),
    predict_change=predict_change,
)  # fmt: skip
