"""Traces to try settings on: case 1's production numbers, recorded runs, and made-up ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.areas.cpu.whatif.types import GcCycle, Setting, Trace
from jitterscope.diagnosis.core.snapshot import FloatArray
from tests.diagnosis.recorded import load, snapshot

STEP_US = 100_000
START_US = 1_767_225_600_000_000
MB = 1_000_000
# gctrace of the fault: 157 MB live after each cycle, which a metrics page would report.
LIVE_BYTES = 157.0 * MB


def recorded_trace(variant: str) -> Trace:
    """A 10 ms recording on the product's grid, with the live heap from its gctrace."""
    found = from_snapshot(snapshot(variant))
    assert isinstance(found, Trace), found
    return replace(found, heap_live_bytes=LIVE_BYTES, heap_measured=True)


def outcome(variant: str) -> dict[str, float]:
    """The actual result of the run, from all of its queries and the kernel's counters."""
    recording, trace = load(variant), recorded_trace(variant)
    latency = recording.latency_us
    return {
        "throttled_ms_per_min": float(np.nansum(trace.throttled_us)) / 1000 * 60 / trace.seconds,
        "throttled_ratio": float(np.nansum(trace.throttled_periods)) / max(1.0, float(np.nansum(trace.periods))),
        "slow_ratio": float((latency > 20_000).mean()),
        "p99_ms": float(np.percentile(latency, 99)) / 1000,
    }


def production(seconds: int = 600, seed: int = 7) -> Trace:
    """Case 1 in production: limit 9, 128 threads, 0.8 CPU on average, a GC cycle of 3.2 CPU seconds every 10 s.

    Under the limit a cycle is spread over four periods: 0.9 s of CPU in each of three, then the rest. Heap as on the
    authors' metrics page: 208 MB live, 417 MB next.
    """
    random = np.random.default_rng(seed)
    n = seconds * 10
    usage = 48_000 + 2_000 * random.standard_normal(n)
    throttled, stopped = np.zeros(n), np.zeros(n)
    cycles = []
    for start in range(57, n - 20, 100):
        left = 3_200_000.0
        for tick in range(start, start + 5):
            ran = min(left, 900_000.0 - usage[tick])
            left -= ran
            usage[tick] += ran
            if left > 0:
                throttled[tick + 1] += 1
                # All of the quota is used within some ms; then about 100 CPUs wait.
                stopped[tick + 1] += 93_000.0 * 100
            elif ran > 0:
                end = tick
        begin_us = START_US + start * STEP_US
        cycles.append(GcCycle(begin_us, START_US + end * STEP_US + 40_000, 208 * MB, 417 * MB))
    return Trace(
        start_us=START_US,
        step_us=STEP_US,
        setting=Setting(cpu_limit=9.0, gomaxprocs=128, gogc=100.0),
        usage_us=usage,
        throttled_us=stopped,
        periods=np.ones(n),
        throttled_periods=throttled,
        arrivals=np.full(n, 240.0),
        answers=np.full(n, 240.0),
        node_cpus=128.0,
        gc=tuple(cycles),
        is_go=True,
        heap_live_bytes=208.0 * MB,
        heap_measured=True,
    )


def made(
    usage_us: FloatArray,
    setting: Setting,
    *,
    throttled: FloatArray | None = None,
    gc: tuple[GcCycle, ...] = (),
    node_cpus: float = 8.0,
    arrivals: FloatArray | None = None,
) -> Trace:
    n = len(usage_us)
    hit = np.zeros(n) if throttled is None else throttled
    queries = np.full(n, 50.0) if arrivals is None else arrivals
    return Trace(
        start_us=START_US,
        step_us=STEP_US,
        setting=setting,
        usage_us=usage_us,
        throttled_us=hit * 0.5 * setting.period_us,
        periods=np.ones(n) if setting.cpu_limit is not None else np.zeros(n),
        throttled_periods=hit,
        arrivals=queries,
        answers=queries,
        node_cpus=node_cpus,
        gc=gc,
        is_go=setting.gomaxprocs is not None,
    )
