"""Bursts over limits, rates, waits, and sizes: kills, and only kills, are predicted, and at the right time."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from jitterscope.diagnosis.areas.memory.readings import signals as memory_signals
from jitterscope.diagnosis.areas.memory.readings.oom import Alarm, first_alarm
from jitterscope.diagnosis.scenarios.memory.simulate import MIB, MemoryRun, MemoryWorkload, simulate_memory

BURST_TICK = 220
GRID = list(
    itertools.product(
        (64, 170, 512),  # MiB
        (700, 3_000, 9_000),  # queries/s
        (0.3, 2.0, 5.0),  # seconds that each query waits
        (14.0, 40.0),  # KiB
    )
)


@cache
def run_of(limit: float, qps: float, wait_s: float, kib: float) -> MemoryRun:
    seed = int(limit + qps + 10 * wait_s + kib)
    return simulate_memory(
        MemoryWorkload(
            seconds=34, limit_mib=limit, qps=30, wait_s=wait_s, query_kib=kib, bursts=((22, 40, qps),), seed=seed
        )
    )


def told(run: MemoryRun, limit: float) -> Alarm | None:
    memory = memory_signals.read(run.snapshot)
    assert memory is not None
    lives = memory_signals.lives(memory)
    life = next((one for one in lives if one.killed), lives[0])
    return first_alarm(run.snapshot, memory, life, limit * MIB, by_queries=True)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "qps", "wait_s", "kib"), GRID)
def test_a_burst_is_told_if_it_kills(limit: float, qps: float, wait_s: float, kib: float) -> None:
    run = run_of(limit, qps, wait_s, kib)
    alarm = told(run, limit)
    if not run.kills:
        # Within a tenth of its limit a prediction is impossible: the garbage's timing is arbitrary.
        assert alarm is None or run.net.max() >= 0.85 * limit * MIB
        return
    lived_s = (run.kills[0] - BURST_TICK) / 10
    if lived_s < 1.0:
        return
    assert alarm is not None
    real_s = (run.kills[0] - alarm.tick) / 10
    assert real_s > 0
    # Once as many wait as can, only garbage is still to come, and its timing is unpredictable.
    if lived_s <= wait_s:
        assert abs(alarm.seconds - real_s) <= max(0.3 * real_s, 0.2)
    assert alarm.low <= alarm.seconds <= alarm.high


def test_the_grid_holds_all_that_can_happen() -> None:
    runs = [(case, run_of(*case)) for case in GRID]
    ends = [(run.kills[0] - BURST_TICK) / 10 if run.kills else None for _, run in runs]
    assert sum(end is None for end in ends) >= 5
    assert sum(end is not None and end >= 1.0 for end in ends) >= 5
