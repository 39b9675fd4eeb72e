"""The picture shows stalls where they happened: before the tick in which the kernel counts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitterscope.incidents.timeline.cpu import spans
from jitterscope.incidents.timeline.throttled import Counted, Stalls, per_tick, stalls
from tests.diagnosis.recorded import load
from tests.e2e.recorded_batches import recorded_counters

NAN = float("nan")
COARSE_US, FINE_US, STEP_US = 100_000, 10_000, 1_000
SECONDS = 3


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A cgroup under a CPU limit, run in steps of 1 ms: what was counted each ms, and when it was really throttled."""

    usage: np.ndarray
    periods: np.ndarray
    throttled: np.ndarray
    stood: list[tuple[int, int]]

    def on(self, step_us: int) -> Counted:
        fold = step_us // STEP_US
        usage, lost, ended = (part.reshape(-1, fold).sum(axis=1) for part in (self.usage, self.throttled, self.periods))
        return Counted(0, step_us, usage, lost, ended)


def run(quota_ms: int, period_ms: int, phase_ms: int, cpus: int, bursts: list[tuple[int, int]]) -> Bandwidth:
    """Threads on each CPU want to run during the bursts (begin, length in ms)."""
    length = SECONDS * 1000
    wants = np.zeros(length, np.bool_)
    for begin, lasts in bursts:
        wants[begin : begin + lasts] = True
    usage, periods, throttled = np.zeros(length), np.zeros(length), np.zeros(length)
    stood: list[tuple[int, int]] = []
    budget, since = float(quota_ms), None
    for now in range(length):
        if (now - phase_ms) % period_ms == 0:
            budget = float(quota_ms)
            if since is not None and since < now:
                # Counted, per run queue, once the next period begins.
                periods[now] += 1
                throttled[now] += (now - since) * cpus * 1000.0
                stood.append((since * 1000, now * 1000))
            since = None
        if not wants[now] or since is not None:
            continue
        ran = min(float(cpus), budget)
        usage[now] += ran * 1000
        budget -= ran
        if budget <= 0:
            since = now + 1
    return Bandwidth(usage, periods, throttled, stood)


@st.composite
def bandwidths(draw: st.DrawFn) -> tuple[Bandwidth, int, int]:
    period_ms = draw(st.sampled_from([50, 100, 200]))
    cpus = draw(st.integers(1, 4))
    quota_ms = draw(st.integers(max(5, cpus), period_ms))
    bursts = draw(st.lists(st.tuples(st.integers(0, 2700), st.integers(10, 900)), min_size=1, max_size=6))
    return run(quota_ms, period_ms, draw(st.integers(0, period_ms - 1)), cpus, bursts), period_ms, cpus


@pytest.mark.slow
@given(bandwidths())
@settings(max_examples=1_000, deadline=None)
def test_ticks_of_10_ms_place_each_stall(case: tuple[Bandwidth, int, int]) -> None:
    was, period_ms, cpus = case
    found = stalls(was.on(COARSE_US), was.on(FINE_US), period_ms * 1000, cpus)
    assert len(found.from_us) == len(was.stood)
    for (begin, end), from_us, to_us in zip(was.stood, found.from_us, found.to_us, strict=True):
        assert abs(to_us - end) <= FINE_US / 2, "nothing after a stall is shaded"
        assert abs(from_us - begin) <= 2 * FINE_US + 1
    assert found.counted_us.sum() == pytest.approx(was.throttled.sum())


@given(bandwidths())
@settings(max_examples=300, deadline=None)
def test_ticks_of_100_ms_place_them_to_half_a_tick(case: tuple[Bandwidth, int, int]) -> None:
    was, period_ms, cpus = case
    found = stalls(was.on(COARSE_US), None, period_ms * 1000, cpus)
    ends = np.array([end for _, end in was.stood])
    # With periods shorter than a tick, several stalls are one span.
    for from_us, to_us, periods in zip(found.from_us, found.to_us, found.periods, strict=True):
        assert np.abs(ends - to_us).min() <= COARSE_US / 2
        assert to_us - from_us <= periods * max(period_ms * 1000, COARSE_US)
    assert found.periods.sum() == len(was.stood)


def test_the_recorded_stalls_of_case_1_are_where_coredns_used_no_cpu() -> None:
    recording, zoom = load("fault"), recorded_counters("fault")
    names = ("cpu_usage_us", "cpu_throttled_us", "cpu_throttled_periods")
    coarse = Counted(recording.start_us, COARSE_US, *(recording.columns[name] for name in names))
    fine = Counted(recording.start_us, FINE_US, *(zoom[name] for name in names))
    found = stalls(coarse, fine, 100_000, 2)
    assert found.periods.sum() == recording.columns["cpu_throttled_periods"].sum()
    inside = np.zeros(len(fine.usage_us), np.bool_)
    for from_us, to_us in zip(found.from_us - recording.start_us, found.to_us - recording.start_us, strict=True):
        inside[-(-from_us // FINE_US) : to_us // FINE_US] = True
    assert inside.sum() > 80
    assert fine.usage_us[inside].mean() < 0.05 * FINE_US, "shaded is what stood still"
    assert fine.usage_us[~inside].mean() > 0.2 * FINE_US


def test_a_coarse_tick_is_used_where_no_detail_was_kept() -> None:
    counted = np.array([0, 70_000.0, 0, 40_000.0]), np.array([0, 1.0, 0, 1.0])
    coarse = Counted(0, COARSE_US, np.full(4, 50_000.0), *counted)
    lost, ended = np.full(40, NAN), np.full(40, NAN)
    lost[10:20], ended[10:20] = 0, 0
    lost[12], ended[12] = 70_000, 1
    found = stalls(coarse, Counted(0, FINE_US, np.zeros(40), lost, ended), 100_000, 1)
    assert found.to_us.tolist() == [125_000, 350_000]
    assert found.from_us.tolist() == [55_000, 310_000]


def test_growth_over_missed_ticks_is_that_of_all_of_them() -> None:
    assert per_tick(np.array([1.0, NAN, NAN, 9.0, 2.0])).tolist()[3:] == [3.0, 2.0]
    seldom = np.full(60, NAN)
    seldom[[0, 59]] = 5.0
    assert per_tick(seldom)[59] == 5.0, "a counter that was away for long may have begun anew"
    # What was counted after missed ticks ended somewhere within them.
    ticks = Counted(0, COARSE_US, np.zeros(4), np.array([0, NAN, NAN, 60_000.0]), np.array([0, NAN, NAN, 1.0]))
    found = stalls(ticks, None, 100_000, 1)
    assert (found.from_us.tolist(), found.to_us.tolist()) == ([190_000], [250_000])


def test_too_many_stalls_are_joined_and_none_is_left_out() -> None:
    starts = np.arange(5_000) * 100_000
    each = np.full(5_000, 60_000.0), np.full(5_000, 120_000.0), np.ones(5_000, np.int64)
    found = Stalls(starts, starts + 60_000, *each)
    shown = spans(found, 500_000_000)
    assert len(shown) <= 2_000
    assert (shown[0]["from_us"], shown[-1]["to_us"]) == (0, 499_960_000)
    assert sum(float(span["attributes"]["stopped_ms"]) for span in shown) == pytest.approx(300_000)
    assert sum(int(span["attributes"]["periods"]) for span in shown) == 5_000
