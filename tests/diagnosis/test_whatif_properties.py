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
@given(trace=traces(), counts=st.lists(st.floats(1.0, 3.0), min_size=1, max_size=4))
def test_more_replicas_never_throttle_one_more(trace: Trace, counts: list[float]) -> None:
    prepared = prepare(trace)
    before, replicas = predict(prepared, trace.setting), 1.0
    assert predict(prepared, replace(trace.setting, replicas=1.0)) == before
    one_more = trace.setting.period_us / (trace.seconds * 1e6)
    for factor in counts:
        replicas *= factor
        after = predict(prepared, replace(trace.setting, replicas=replicas))
        for metric, grain in (("throttled_ratio", one_more), ("slow_ratio", 0.0), ("cpu_mean", 0.0)):
            was, now = getattr(before, metric), getattr(after, metric)
            if was is not None and now is not None:
                assert now.expected <= was.expected * (1 + 1e-9) + grain, (metric, replicas)
        before = after
    with pytest.raises(ValueError, match="replicas"):
        predict(prepared, replace(trace.setting, replicas=0.5))


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


# Workload, and times as many replicas.
SHARED: dict[str, tuple[dict[str, Any], float]] = {
    "cycles are half as many": ({}, 2.0),
    "cycles are a quarter as many": ({}, 4.0),
    "three replicas instead of two": ({"qps": 1_500.0}, 1.5),
    "half of a burst of queries fits": ({"live_mb": 3.0, "bursts": ((20.0, 6.0, 3_500.0), (60.0, 6.0, 3_500.0))}, 2.0),
    "half of what was lost does not": ({"live_mb": 3.0, "bursts": ((20.0, 26.0, 5_000.0),)}, 2.0),
    "a third of what was lost fits": ({"live_mb": 3.0, "bursts": ((20.0, 26.0, 5_000.0),)}, 3.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("case", SHARED)
def test_a_simulated_part_of_the_load_comes_out_as_predicted(case: str, seed: int) -> None:
    """The part of the load that one replica gets, simulated with other draws, which the prediction has never seen."""
    changes, replicas = SHARED[case]
    whole = Workload(**{"seconds": 120.0, "seed": seed, **changes})
    part = replace(
        whole,
        seed=seed + 100,
        qps=whole.qps / replicas,
        bursts=tuple((at, seconds, qps / replicas) for at, seconds, qps in whole.bursts),
    )
    before, after = (from_snapshot(simulate(one).snapshot) for one in (whole, part))
    assert isinstance(before, Trace)
    assert isinstance(after, Trace)
    assert after.slow is not None
    said = predict(before, replace(before.setting, replicas=replicas))
    real = {
        "throttled_ratio": float(np.nansum(after.throttled_periods) / np.nansum(after.periods)),
        "throttled_ms_per_min": float(np.nansum(after.throttled_us)) / 1000 * 60 / after.seconds,
        "slow_ratio": float(np.nansum(after.slow) / np.nansum(after.arrivals)),
        "gc_cycles_per_min": len(after.gc) * 60 / after.seconds,
        "cpu_mean": float(np.nanmean(after.usage_us)) / after.step_us,
    }
    for metric, outcome in real.items():
        found = known(getattr(said, metric))
        assert found.low <= outcome <= found.high, (metric, found, outcome)
    assert any(note.startswith("Includes the recorded queries") for note in said.notes) == ("bursts" in changes)
    # An interval from nothing to everything would contain any outcome.
    assert known(said.cpu_mean).high < 1.4 * known(said.cpu_mean).expected


def test_what_no_request_explains_is_not_shared() -> None:
    """Without a count of requests, and of a burst of the program's own, no part goes to another replica."""
    usage = np.full(200, 0.2 * STEP_US)
    trace = made(usage, Setting(cpu_limit=0.5), arrivals=np.full(200, np.nan))
    said = predict(trace, Setting(cpu_limit=0.5, replicas=2.0))
    assert said.throttled_ratio is None
    assert said.cannot_tell == (
        "Requests are not counted here, so the part of the CPU use that more replicas share is unknown."
    )
    job = from_snapshot(simulate(Workload(seconds=60.0, live_mb=3.0, gogc=None, job=(5.0, 0.4))).snapshot)
    assert isinstance(job, Trace)
    prepared = prepare(job)
    now, shared = (predict(prepared, replace(job.setting, replicas=count)) for count in (1.0, 20.0))
    assert known(now.throttled_ratio).expected > 0.01
    assert known(shared.throttled_ratio).expected > 0.5 * known(now.throttled_ratio).expected


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
