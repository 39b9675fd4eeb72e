"""Time stolen by the hypervisor while the server has work; and CPUs used by other cgroups of the node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from jitterscope.diagnosis.core.snapshot import Snapshot
from jitterscope.diagnosis.scenarios.cpu.contention import (
    LITTLE,
    LOOPS,
    contended,
    delays,
    throttled_delays,
)
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from jitterscope.diagnosis.scenarios.scenario import Scenario
from jitterscope.diagnosis.scenarios.telemetry import inside_ticks

ID = "cpu/steal"
BASE = Workload(qps=400, live_mb=3, quota_us=None, gomaxprocs=1)
MOMENTS = tuple((2.0 + 1.9 * n, 0.1 + 0.04 * (n % 5)) for n in range(30))
ALL_THE_TIME = tuple((0.2 + 0.5 * n, 0.4) for n in range(118))


def _run(load: Workload, spans: Sequence[tuple[float, float]], share: float = 0.9, taken: float = 0.05) -> Snapshot:
    made = simulate(replace(load, hiccups=tuple(spans))).snapshot
    inside = inside_ticks(spans, made.ticks)
    stolen = share * inside + 0.005
    return contended(made, delays(spans, made.ticks), taken * (1 - stolen), takers=LITTLE, stolen=stolen)


def _taken(load: Workload) -> Snapshot:
    """Neighbors use the CPUs, and the hypervisor steals a little all the time."""
    made = simulate(replace(load, hiccups=MOMENTS)).snapshot
    taken = 0.1 + 0.85 * inside_ticks(MOMENTS, made.ticks)
    return contended(made, delays(MOMENTS, made.ticks), taken, takers=LOOPS, stolen=0.02)


def _throttled(load: Workload) -> Snapshot:
    made = simulate(load).snapshot
    return contended(made, throttled_delays(made), 0.2, takers=LITTLE, stolen=0.02)


def _one_tick() -> Snapshot:
    """80 ms are stolen once, beside a little in 10 ms steps, from a container whose answers are not timed."""
    made = simulate(replace(BASE, serves=None, is_go=False, seed=9)).snapshot
    stolen = np.zeros(made.ticks)
    stolen[310], stolen[::40] = 0.42, 0.05
    return contended(made, np.full(made.ticks, 400.0), 0.05, takers=LITTLE, stolen=stolen)


def _idle() -> Snapshot:
    """Much is stolen from the node, and this container hardly wants a CPU."""
    made = simulate(replace(BASE, serves=None, is_go=False, qps=1, seed=10)).snapshot
    return contended(made, np.full(made.ticks, 400.0), 0.3, takers=LITTLE, stolen=0.5)


def _harmless() -> Snapshot:
    made = simulate(replace(BASE, seed=5)).snapshot
    return contended(made, np.full(made.ticks, 500.0), 0.3, takers=LITTLE, stolen=0.15)


SCENARIOS = (
    Scenario("steal/moments", ID, partial(_run, BASE, MOMENTS)),
    Scenario("steal/credits are used up", ID, partial(_run, replace(BASE, seed=2), ALL_THE_TIME, 0.8)),
    Scenario("steal/with a limit", ID, partial(_run, replace(BASE, quota_us=100_000, seed=3), MOMENTS)),
    Scenario("steal/HTTP", ID, partial(_run, replace(BASE, serves="http", seed=8), MOMENTS)),
    Scenario("steal/serves nothing", ID, partial(
        _run, replace(BASE, serves=None, is_go=False, seed=4), MOMENTS), hurts=False),
    Scenario("steal/look-alike: one tick of a container that is not timed", None, _one_tick),
    Scenario("steal/look-alike: a container that is idle", None, _idle),
    Scenario("steal/look-alike: a part is stolen all the time, and nobody is late", None, _harmless),
    Scenario("steal/near miss: others of the node take the CPUs", "cpu/neighbours", partial(
        _taken, replace(BASE, seed=6))),
    Scenario("steal/near miss: overload", "cpu/limit_too_low", partial(
        _throttled, Workload(qps=4000, live_mb=3, seconds=20, seed=7))),
)  # fmt: skip
