"""What CFS bandwidth control guarantees holds for every load the model gets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitterscope.diagnosis.areas.cpu.whatif.cfs import IDEAL, Bandwidth, Kernel, simulate
from jitterscope.diagnosis.core.snapshot import FloatArray

STEP_US = 10_000
works = st.lists(st.floats(0, 40_000), min_size=1, max_size=120).map(lambda found: np.array(found))
quotas = st.integers(1_000, 300_000)
periods = st.sampled_from([10_000, 20_000, 50_000, 100_000, 250_000])
widths = st.floats(0.5, 8)
kernels = st.sampled_from([IDEAL, Kernel(), Kernel(tick_us=1_000.0), Kernel(tick_us=10_000.0)])
shares = st.floats(0, 1)
unhurried = settings(deadline=None)  # other load on the machine does not make the model wrong


def served(work: FloatArray, quota_us: float, period_us: float, **given: object) -> Bandwidth:
    return simulate(work, STEP_US, quota_us=quota_us, period_us=period_us, **given)  # type: ignore[arg-type]


@unhurried
@given(works, quotas, periods, widths, kernels, shares)
def test_work_is_conserved(
    work: FloatArray, quota: int, period: int, width: float, kernel: Kernel, phase: float
) -> None:
    found = served(work, quota, period, parallelism=width, kernel=kernel, phase_us=phase * (period - 1))
    assert found.run_us.sum() + found.backlog_us[0, -1] == pytest.approx(work.sum(), abs=0.1)
    assert found.run_steps_us.sum(axis=1) == pytest.approx(found.run_us.sum(axis=1))
    assert (found.run_steps_us >= -1e-6).all()
    assert (found.backlog_us >= 0).all()
    assert (found.throttled_us <= period + 1e-6).all()
    assert (found.throttled_us >= 0).all()
    assert (found.throttled >= (found.throttled_us > 0)).all()


@unhurried
@given(works, quotas, periods, widths, kernels, shares)
def test_cpu_in_a_period_stays_within_quota_and_burst(
    work: FloatArray, quota: int, period: int, width: float, kernel: Kernel, burst: float
) -> None:
    """Plus what CPUs keep of their slices and overrun by, which is nothing in an ideal kernel; and over any span."""
    found = served(work, quota, period, burst_us=burst * quota, parallelism=width, kernel=kernel)
    extra = width * (kernel.keep_us + kernel.tick_us / 2)
    assert (found.run_us <= quota * (1 + burst) + extra + 0.01).all()
    assert (found.run_steps_us <= width * found.step_us + 0.01).all()
    total = np.concatenate([[0.0], np.cumsum(found.run_us[0])])
    beyond = total - np.arange(len(total)) * quota
    assert (beyond - np.minimum.accumulate(beyond) <= quota * burst + extra + 0.01).all()
    assert (found.burst_us <= quota * burst + 0.01).all()


@unhurried
@given(works, st.lists(st.integers(1, 8), min_size=120, max_size=120), quotas, periods, shares)
def test_changing_parallelism_breaks_no_limit(
    work: FloatArray, widths: list[int], quota: int, period: int, burst: float
) -> None:
    cpus = np.array(widths[: len(work)], dtype=np.float64)[np.newaxis]
    found = served(work, quota, period, burst_us=burst * quota, parallelism=cpus, kernel=IDEAL)
    assert (found.run_us <= quota * (1 + burst) + 0.01).all()
    assert (found.run_steps_us <= 8 * found.step_us + 0.01).all()
    assert found.run_us.sum() + found.backlog_us[0, -1] == pytest.approx(work.sum(), abs=0.1)


@unhurried
@given(works, quotas, periods, widths, kernels, st.floats(1, 10))
def test_more_quota_never_throttles_more(
    work: FloatArray, quota: int, period: int, width: float, kernel: Kernel, more: float
) -> None:
    less = served(work, quota, period, parallelism=width, kernel=kernel)
    rich = served(work, quota * more, period, parallelism=width, kernel=kernel)
    assert (rich.backlog_us <= less.backlog_us + 0.01).all()
    assert rich.throttled_us.sum() <= less.throttled_us.sum() + 1
    assert rich.throttled.sum() <= less.throttled.sum()


@unhurried
@given(works, quotas, periods, widths, kernels, shares, shares)
def test_more_burst_never_throttles_more(
    work: FloatArray, quota: int, period: int, width: float, kernel: Kernel, one: float, other: float
) -> None:
    low, high = sorted([one, other])
    less = served(work, quota, period, burst_us=low * quota, parallelism=width, kernel=kernel)
    rich = served(work, quota, period, burst_us=high * quota, parallelism=width, kernel=kernel)
    assert (rich.backlog_us <= less.backlog_us + 0.01).all()
    assert rich.throttled_us.sum() <= less.throttled_us.sum() + 1


@unhurried
@given(works, quotas, periods, widths, kernels)
def test_no_limit_and_no_burst(work: FloatArray, quota: int, period: int, width: float, kernel: Kernel) -> None:
    """Burst 0 is no burst; an unreachable limit is no limit; without a limit nothing is throttled."""
    plain = served(work, quota, period, parallelism=width, kernel=kernel)
    assert not plain.burst_us.any()
    free = simulate(work, STEP_US, quota_us=None, period_us=period, parallelism=width, kernel=kernel)
    huge = served(work, 1e9, period, parallelism=width, kernel=kernel)
    assert not free.throttled.any()
    assert not free.throttled_us.any()
    assert free.run_us == pytest.approx(huge.run_us, abs=0.01)


@unhurried
@given(st.lists(works, min_size=2, max_size=4), quotas, periods, widths)
def test_replicates_do_not_touch_each_other(rows: list[FloatArray], quota: int, period: int, width: float) -> None:
    length = min(len(row) for row in rows)
    work = np.stack([row[:length] for row in rows])
    wide = np.linspace(width, 2 * width, len(rows))
    wide[-1] = np.inf
    together = served(work, quota, period, parallelism=wide)
    for index, row in enumerate(work):
        alone = served(row, quota, period, parallelism=wide[index])
        assert together.run_us[index] == pytest.approx(alone.run_us[0], abs=0.01)
        assert (together.throttled[index] == alone.throttled[0]).all()


def test_what_the_kernel_refuses() -> None:
    work = np.ones(4)
    for wrong in ({"burst_us": 50_001.0}, {"burst_us": -1.0}, {"phase_us": 100_000.0}, {"parallelism": 0.0}):
        with pytest.raises(ValueError, match=r"must|kernel takes"):
            served(work, 50_000, 100_000, **wrong)
    with pytest.raises(ValueError, match="finite"):
        served(work, 50_000, 100_000, parallelism=np.full((1, 4), np.inf))
    with pytest.raises(ValueError, match="above 0"):
        served(work, 0, 100_000)
    with pytest.raises(ValueError, match="negative"):
        served(-work, 50_000, 100_000)


def test_one_burst_by_hand() -> None:
    """140 ms of work at two CPUs from 30 ms on, quota 50 ms in 100 ms: 25 ms run, then wait; 50 ms, wait; 40 ms."""
    work = np.zeros(40)
    work[3:10] = 20_000
    found = served(work, 50_000, 100_000, parallelism=2.0, kernel=IDEAL)
    assert found.run_us[0] == pytest.approx([50_000, 50_000, 40_000, 0])
    assert found.throttled_us[0] == pytest.approx([45_000, 75_000, 0, 0])
    assert found.throttled_cpu_us[0] == pytest.approx([90_000, 150_000, 0, 0])
    assert found.throttled[0].tolist() == [True, True, False, False]
    assert found.backlog_us[0] == pytest.approx([90_000, 40_000, 0, 0])
    assert found.active[0].tolist() == [True, True, True, True]
    burst = served(work, 50_000, 100_000, burst_us=50_000, parallelism=2.0, kernel=IDEAL)
    assert burst.run_us[0] == pytest.approx([100_000, 40_000, 0, 0])
    assert burst.burst_us[0] == pytest.approx([50_000, 0, 0, 0])


def test_an_overrun_counts_but_nobody_waits() -> None:
    """52 ms of one thread's work in a quota of 50 ms: it ends before the tick that would stop it."""
    work = np.zeros(20)
    work[0:5] = 10_000
    work[5] = 2_500
    found = served(work, 50_000, 100_000, parallelism=1.0, kernel=Kernel())
    assert found.throttled[0].tolist() == [True, False]
    assert not found.throttled_us.any()
    assert served(work, 50_000, 100_000, parallelism=1.0, kernel=IDEAL).throttled_us[0, 0] == pytest.approx(50_000)
