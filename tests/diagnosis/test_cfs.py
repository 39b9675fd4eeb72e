"""The replay of CFS bandwidth control against its rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitterscope.diagnosis.areas.cpu.whatif.cfs import replay

demands = st.lists(st.floats(0, 400_000), min_size=1, max_size=80)


@given(demands, st.sampled_from([50_000, 100_000, 250_000]), st.integers(1_000, 200_000))
def test_work_is_conserved(demand: list[float], period_us: int, quota_us: int) -> None:
    found = replay(np.array(demand), 100_000, quota_us, period_us)
    periods = len(found.throttled)
    arrived = np.interp(periods * period_us, np.arange(len(demand) + 1) * 1e5, np.concatenate([[0], np.cumsum(demand)]))
    assert found.backlog_us[-1] >= -1e-6
    assert found.backlog_us[-1] >= arrived - periods * quota_us - 1e-3
    # Whatever is throttled has work left, and vice versa.
    assert ((found.backlog_us > 1e-5 * quota_us) == found.throttled).all()


@given(demands, st.integers(1_000, 200_000), st.integers(0, 200_000))
def test_more_quota_or_burst_never_throttles_more(demand: list[float], quota_us: int, burst_us: int) -> None:
    array = np.array(demand)
    plain = replay(array, 100_000, quota_us, 100_000)
    assert replay(array, 100_000, 2 * quota_us, 100_000).throttled_periods <= plain.throttled_periods
    burst = replay(array, 100_000, quota_us, 100_000, burst_us=min(burst_us, quota_us))
    assert burst.throttled_periods <= plain.throttled_periods
    assert (burst.backlog_us <= plain.backlog_us + 1e-6).all()


def test_burst_is_what_earlier_periods_left_and_no_more() -> None:
    demand = np.array([0.0, 0, 150_000, 0, 0, 0])
    assert replay(demand, 100_000, 50_000, 100_000).throttled_periods == 2
    assert replay(demand, 100_000, 50_000, 100_000, burst_us=50_000).throttled_periods == 1
    assert replay(np.array([50_000.0, 100_000]), 100_000, 50_000, 100_000, burst_us=0).throttled_periods == 1


def test_cpus_bound_what_can_exceed_the_quota() -> None:
    """One CPU cannot use more than one period's quota, whatever waits."""
    assert replay(np.full(10, 300_000.0), 100_000, 100_000, 100_000, cpus=1).throttled_periods == 0


def test_missing_demand_is_none() -> None:
    assert replay(np.array([np.nan, np.nan]), 100_000, 50_000, 100_000).backlog_us == pytest.approx([0, 0])
