"""Properties of any trace: more quota never throttles more, what ran free stays free, no CPU beyond the quota."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitterscope.diagnosis.areas.cpu.whatif import cfs
from jitterscope.diagnosis.areas.cpu.whatif.predict import predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.search import smallest_burst, smallest_limit
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.areas.cpu.whatif.types import GcCycle, Goal, Setting, Trace
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.scenarios.cpu.simulate import simulate
from jitterscope.diagnosis.scenarios.cpu.workload import Workload
from tests.diagnosis.whatif_traces import START_US, STEP_US, made


def known(value: Interval | None) -> Interval:
    assert value is not None
    return value


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """A limit, steady queries, and bursts (GC or other) that ran under the limit period by period."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(80, 300))
    limit = draw(st.sampled_from([0.2, 0.5, 1.0, 2.5, 9.0]))
    procs = draw(st.sampled_from([1, 2, 4, 16]))
    quota = limit * STEP_US
    usage = quota * draw(st.floats(0.02, 0.6)) * (1 + 0.1 * random.standard_normal(n).clip(-2, 2))
    throttled = np.zeros(n)
    cycles = []
    every, cost = draw(st.integers(15, 60)), quota * draw(st.floats(0.1, 6.0))
    for start in range(5, n - 3, every):
        left, tick = cost, start
        while left > 0 and tick < n - 1:
            room = min(quota, procs * STEP_US) - usage[tick]
            ran = min(left, max(room, 0.0))
            usage[tick] += ran
            left -= ran
            if left > 0 and procs > limit:
                throttled[tick + 1] += 1
            tick += 1
        cycles.append(GcCycle(START_US + start * STEP_US, START_US + tick * STEP_US))
    setting = Setting(cpu_limit=limit, gomaxprocs=procs, burst_us=0)
    gc = tuple(cycles) if draw(st.booleans()) else ()
    return made(usage, setting, throttled=throttled, gc=gc, node_cpus=16.0)


@settings(max_examples=40)
@given(trace=traces(), steps=st.lists(st.floats(1.0, 2.5), min_size=1, max_size=4))
def test_more_quota_never_throttles_more(trace: Trace, steps: list[float]) -> None:
    prepared = prepare(trace)
    limit = (trace.setting.cpu_limit or 1.0) * 0.6
    before = predict(prepared, replace(trace.setting, cpu_limit=limit))
    for factor in steps:
        limit *= factor
        after = predict(prepared, replace(trace.setting, cpu_limit=limit))
        for metric in ("throttled_ratio", "throttled_ms_per_min"):
            was, now = known(getattr(before, metric)), known(getattr(after, metric))
            for end in ("low", "expected", "high"):
                assert getattr(now, end) <= getattr(was, end) * (1 + 1e-9) + 1e-9, (metric, end, factor)
        before = after
    free = predict(prepared, replace(trace.setting, cpu_limit=None))
    assert known(free.throttled_ms_per_min).high == 0


@settings(max_examples=40)
@given(trace=traces())
def test_burst_only_helps_and_none_is_no_burst(trace: Trace) -> None:
    prepared = prepare(trace)
    quota = int(trace.setting.quota_us or 0)
    none = predict(prepared, replace(trace.setting, burst_us=0))
    assert none == predict(prepared, trace.setting)
    half, full = (predict(prepared, replace(trace.setting, burst_us=burst)) for burst in (quota // 2, quota))
    low, middle, high = (known(one.throttled_ratio).expected for one in (full, half, none))
    assert low <= middle <= high
    with pytest.raises(ValueError, match="burst"):
        predict(prepared, replace(trace.setting, burst_us=quota + 1))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    share=st.floats(0.05, 0.95),
    limit=st.one_of(st.none(), st.floats(0.1, 20.0)),
    ticks=st.integers(60, 400),
)
def test_what_was_not_throttled_gives_itself(seed: int, share: float, limit: float | None, ticks: int) -> None:
    random = np.random.default_rng(seed)
    top = (limit or 4.0) * STEP_US
    usage = top * share * random.random(ticks)
    trace = made(usage, Setting(cpu_limit=limit, gomaxprocs=None), node_cpus=32.0)
    said = predict(trace, trace.setting, timeline=True)
    assert known(said.throttled_ms_per_min).expected == known(said.throttled_ms_per_min).high == 0
    assert known(said.throttled_ratio).expected == 0
    assert known(said.cpu_mean).expected == pytest.approx(usage.mean() / STEP_US, rel=0.02)
    assert said.timeline is not None
    assert said.timeline.throttled_us.sum() == 0
    assert said.timeline.cpu_ratio.sum() * STEP_US == pytest.approx(usage.sum(), rel=0.02)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    quota=st.floats(1_000, 400_000),
    part=st.floats(0, 1),
    cpus=st.floats(0.5, 64),
    phase=st.floats(0, 0.999),
)
def test_cpu_of_a_period_is_at_most_quota_and_burst(
    seed: int, quota: float, part: float, cpus: float, phase: float
) -> None:
    work = np.random.default_rng(seed).exponential(quota / 10, 300)
    ran = cfs.simulate(
        work, 10_000.0, quota_us=quota, period_us=100_000.0, burst_us=part * quota, parallelism=cpus,
        phase_us=phase * 100_000, kernel=cfs.IDEAL,
    )  # fmt: skip
    assert ran.run_us.max() <= quota * (1 + part) + 1
    assert ran.run_us.sum() + ran.backlog_us[0, -1] == pytest.approx(work.sum())


@settings(max_examples=20)
@given(trace=traces())
def test_intervals_are_in_order_and_the_same_every_time(trace: Trace) -> None:
    prepared = prepare(trace)
    setting = replace(trace.setting, cpu_limit=1.7, gomaxprocs=2)
    said = predict(prepared, setting)
    assert said == predict(prepare(trace), setting)
    for name in ("throttled_ms_per_min", "throttled_ratio", "cpu_mean"):
        one = known(getattr(said, name))
        assert 0 <= one.low <= one.expected <= one.high
    assert known(said.throttled_ratio).high <= 1


@settings(max_examples=15)
@given(trace=traces())
def test_what_a_search_finds_reaches_the_goal_and_less_does_not(trace: Trace) -> None:
    prepared, goal = prepare(trace), Goal("throttled_ratio", 0.02)
    found = smallest_limit(prepared, goal)
    assert found.prediction is not None
    if prepared.demand.is_hidden and found.value is None:
        assert found.reason.startswith("Throttling hides the demand")
        assert known(found.prediction.throttled_ratio).high > goal.at_most
        return
    assert found.value is not None
    assert known(found.prediction.throttled_ratio).high <= goal.at_most
    less = predict(prepared, replace(trace.setting, cpu_limit=max(0.01, min(found.value * 0.8, found.value - 0.05))))
    lowest = found.value <= 0.1 + 0.5 * float(prepared.demand.base_us.mean()) / STEP_US
    assert lowest or known(less.throttled_ratio).high > goal.at_most or found.value > 5
    burst = smallest_burst(prepared, goal)
    assert burst.reason
    if burst.value is not None:
        said = predict(prepared, replace(trace.setting, burst_us=int(burst.value)))
        assert known(said.throttled_ratio).high <= goal.at_most


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "more quota": ({"quota_us": 50_000}, {"quota_us": 100_000}),
    "one CPU suffices": ({"quota_us": 120_000}, {"quota_us": 120_000, "gomaxprocs": 1}),
    "one CPU does not": ({"quota_us": 50_000}, {"quota_us": 50_000, "gomaxprocs": 1}),
    "burst suffices": (
        {"quota_us": 90_000, "live_mb": 100.0},
        {"quota_us": 90_000, "live_mb": 100.0, "burst_us": 90_000},
    ),
    "burst does not": ({"quota_us": 50_000}, {"quota_us": 50_000, "burst_us": 50_000}),
    "half the heap growth": ({"quota_us": 50_000}, {"quota_us": 50_000, "gogc": 50}),
    "twice the heap growth": ({"quota_us": 50_000}, {"quota_us": 50_000, "gogc": 200}),
    "shorter period": ({"quota_us": 50_000}, {"quota_us": 25_000, "period_us": 50_000}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_simulated_changes_come_out_as_predicted(case: str) -> None:
    """Another simulation (5 ms steps, single queries) of the change, which the prediction has never seen."""
    fault, change = ({"seconds": 120.0, "seed": 3, **kwargs} for kwargs in CASES[case])
    before, after = (
        from_snapshot(simulate(Workload(**fault)).snapshot),
        from_snapshot(simulate(Workload(**change)).snapshot),
    )
    assert isinstance(before, Trace)
    assert isinstance(after, Trace)
    said = predict(before, after.setting)
    real = {
        "throttled_ratio": float(np.nansum(after.throttled_periods) / np.nansum(after.periods)),
        "throttled_ms_per_min": float(np.nansum(after.throttled_us)) / 1000 * 60 / after.seconds,
        "slow_ratio": float(np.nansum(after.slow) / np.nansum(after.arrivals)) if after.slow is not None else 0.0,
    }
    for metric, outcome in real.items():
        found = known(getattr(said, metric))
        assert found.low <= outcome <= found.high, (metric, found, outcome)
