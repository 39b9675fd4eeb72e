"""The model of CFS bandwidth control against the running kernel: a known load in a real cgroup, over a grid."""

from __future__ import annotations

import os

import numpy as np
import pytest

from jitterscope.diagnosis.areas.cpu.whatif.cfs import Bandwidth, Kernel, simulate
from labs.cgroups import Hierarchies, remove_stale
from tests.support.cfs_runs import Counted, Point, run
from tests.support.lab_plan import live

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes cgroups: needs root")

# Quota, period, burst, threads, work of a thread in an on-phase, every.
GRID = [
    Point(20_000, 100_000, 0, 1, 50_000, 310_000),
    Point(20_000, 100_000, 0, 2, 36_000, 410_000),
    Point(50_000, 100_000, 0, 1, 80_000, 270_000),
    Point(50_000, 100_000, 0, 2, 60_000, 430_000),
    Point(50_000, 100_000, 50_000, 2, 60_000, 430_000),
    Point(80_000, 100_000, 0, 2, 70_000, 230_000),
    Point(120_000, 100_000, 0, 2, 170_000, 510_000),
    Point(50_000, 100_000, 0, 4, 40_000, 510_000),
    Point(10_000, 20_000, 0, 1, 33_000, 130_000),
    Point(15_000, 50_000, 15_000, 2, 26_000, 310_000),
    Point(15_000, 50_000, 15_000, 2, 30_000, 310_000),  # a toss-up
    Point(15_000, 50_000, 15_000, 2, 33_500, 310_000),
    Point(40_000, 50_000, 20_000, 2, 60_000, 290_000),
    Point(40_000, 50_000, 20_000, 2, 70_000, 290_000),  # a toss-up
    Point(40_000, 50_000, 20_000, 2, 78_000, 290_000),
    Point(100_000, 250_000, 0, 2, 120_000, 770_000),
    Point(40_000, 100_000, 40_000, 1, 70_000, 370_000),  # burst suffices: nothing is throttled
    Point(100_000, 100_000, 0, 1, 150_000, 410_000),  # one thread cannot exceed one CPU
]
PHASES = 32  # where in the kernel's period a run begins is unknown
ATTEMPTS = 3
DISTURBED_RATIO = 0.25  # of the load's CPU
SLICE_US = 5_000
THROTTLED_RATIO = 0.10
TOSS_UP_RATIO = 0.25


def is_toss_up(point: Point, cpus: int) -> bool:
    """Whether an on-phase is a whole number of quotas, give or take what CPUs keep and overrun.

    Then runs differ in whether one more period is throttled, in the kernel too.
    """
    rest_us = (point.threads * point.work_us - point.burst_us) % point.quota_us
    kernel = Kernel()
    return min(rest_us, point.quota_us - rest_us) < cpus * (kernel.tick_us / 2 + kernel.keep_us)


def simulated(point: Point, counted: Counted) -> Bandwidth:
    """What other load took from the threads, as measured, is missing from the CPUs they could use."""
    work = np.tile(counted.work_steps_us(1000), (PHASES, 1))
    return simulate(
        work,
        1000,
        quota_us=point.quota_us,
        period_us=point.period_us,
        burst_us=point.burst_us,
        parallelism=counted.cpus / (1 + counted.disturbed_ratio),
        phase_us=np.arange(PHASES) / PHASES * point.period_us,
    )


def least_disturbed(point: Point, hierarchies: Hierarchies) -> Counted:
    """A run that the machine's other load hardly disturbed, or the best of three."""
    best = run(point, hierarchies)
    for _ in range(ATTEMPTS - 1):
        if best.disturbed_ratio <= DISTURBED_RATIO:
            break
        best = min(best, run(point, hierarchies), key=lambda counted: counted.disturbed_ratio)
    return best


@live(85)
@pytest.mark.timeout(300)
def test_against_the_kernel() -> None:
    """nr_throttled within 10 % (and 2 counts, if a run has few) in each cell, and within 10 % over all cells.

    Toss-ups get 25 %: the kernel's own equal runs of 15/50+15 with 2 x 30 ms counted 21 to 26, the model 20 to 22.
    Throttled time is bounded cell by cell only if the quota has two slices per CPU: below that, the model is coarse.
    """
    hierarchies = Hierarchies.of_this_machine()
    remove_stale(hierarchies)
    wrong, totals = [], np.zeros((4, 2))
    print(  # noqa: T201
        "\nquota/period+burst ms, threads x work@every ms | nr_throttled | throttled ms | nr_bursts | burst ms | "
        "nr_periods (counted, simulated) | disturbed"
    )
    for point in GRID:
        counted = least_disturbed(point, hierarchies)
        found = simulated(point, counted)
        throttled_ms = counted.cpus * found.throttled_us.sum(axis=1).mean() / 1e3
        ratio = TOSS_UP_RATIO if is_toss_up(point, counted.cpus) else THROTTLED_RATIO
        rows = {
            "nr_throttled": (counted.throttled, found.throttled.sum(axis=1).mean(), 2.0, ratio),
            "throttled ms": (counted.throttled_ms, throttled_ms, 150.0, 0.40),
            "nr_bursts": (counted.bursts, (found.burst_us > 1).sum(axis=1).mean(), 2.0, 0.20),
            "burst ms": (counted.burst_ms, found.burst_us.sum(axis=1).mean() / 1e3, 20.0, 0.20),
            "nr_periods": (counted.periods, found.active.sum(axis=1).mean(), 3.0, 0.10),
        }
        if point.quota_us < 2 * SLICE_US * counted.cpus:
            rows["throttled ms"] = (*rows["throttled ms"][:2], np.inf, 0.0)
        cells = " | ".join(f"{real:6.0f} {model:8.1f}" for real, model, _, _ in rows.values())
        name = f"{point.quota_us / 1e3:g}/{point.period_us / 1e3:g}+{point.burst_us / 1e3:g}, {point.threads} x "
        name += f"{point.work_us / 1e3:g}@{point.every_us / 1e3:g}"
        print(f"{name:34} | {cells} | {counted.disturbed_ratio:.2f}")  # noqa: T201
        totals += [(real, model) for real, model, _, _ in list(rows.values())[:4]]
        wrong += [
            (name, metric, real, round(float(model), 1))
            for metric, (real, model, counts, ratio) in rows.items()
            if abs(model - real) > counts + ratio * real
        ]
    print("all: " + " | ".join(f"{real:.0f} {model:.0f}" for real, model in totals))  # noqa: T201
    assert not wrong
    for (real, model), ratio in zip(totals, (0.10, 0.20, 0.10, 0.10), strict=True):
        assert model == pytest.approx(real, rel=ratio)


def test_what_the_kernel_refuses_the_model_refuses() -> None:
    """A burst above the quota: EINVAL there, ValueError here."""
    hierarchies = Hierarchies.of_this_machine()
    point = Point(20_000, 100_000, 20_001, 1, 1_000, 100_000)
    with pytest.raises(Exception, match="kernel rejects"):
        run(point, hierarchies)
    with pytest.raises(ValueError, match="kernel takes"):
        simulate(np.ones(10), 1000, quota_us=20_000, period_us=100_000, burst_us=20_001)
    assert not any(folder.exists() for folder in hierarchies.folders(f"jitterscope-lab-{os.getpid()}"))
