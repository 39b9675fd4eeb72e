"""CPU demand through CFS bandwidth control, as the kernel does it (kernel/sched/fair.c, sched-bwc.rst).

What is modelled, and which of the kernel's functions it follows
- A timer refills the group's pool every period: pool = min(pool + quota, quota + burst), burst at most the quota
  (`__refill_cfs_bandwidth_runtime`, `tg_set_cfs_bandwidth`). Idle periods refill it too.
- A CPU takes slices from the pool and keeps up to 1 ms of one when it goes idle (`__assign_cfs_rq_runtime`,
  `__return_cfs_rq_runtime`), so a group that rested can use a little more than its pool.
- A CPU finds out that nothing is left at its next scheduler tick, so it overruns by half a tick on average; the
  debt is paid from the next refill (`account_cfs_rq_runtime`, `distribute_cfs_runtime`).
- `nr_throttled` counts a period at whose end a CPU is out of runtime, also where no thread waits: work that ends
  during the overrun counts, and waits for nothing (`do_sched_cfs_period_timer`).
- `nr_periods` counts while the timer runs: it stops after one period without a slice taken.
- `throttled_time` (v1) and `throttled_usec` (v2) both sum over the CPUs that waited (`unthrottle_cfs_rq`).

Work in a step arrives evenly, runs first come first served on at most `parallelism` CPUs, and waits when the pool is
empty: throttled work is delayed, not lost. This makes a token bucket and a rate limit in series, which running minima
solve for all periods at once (Le Boudec and Thiran, Network Calculus, 2001, ch. 1.5).

Limits
- Ticks and slices act by their mean. Work within some ms of a whole number of quotas is a toss-up, for the kernel
  too: 2 × 30 ms of work under a quota of 20 ms gave 27 to 37 throttled periods in equal runs.
  The model comes out low there, as its resting CPUs always keep a whole millisecond: 20 to 22 throttled periods
  beside the kernel's 21 to 26 (2 × 30 ms, quota 15 ms, burst 15 ms, 15 runs); 30 where they keep nothing.
- One CPU may be out while another still holds a slice (5 ms), and what it gives back waits for the next period. Short
  stalls of single threads are missed; with a quota under two slices a CPU (10 ms × CPUs) throttled time can be half
  of the kernel's, while nr_throttled still holds (tests/labs/test_cfs_kernel.py measures both).
- Work inside a step has no order: stalls shorter than a step in lumpy work are missed, so use steps of 10 ms or less
  where the trace has them.
- From kernel 6.18 on a thread stops on its way back to user space: a long system call adds to the overrun.
- Limits of parent cgroups, other groups' load and real-time threads are outside the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jitterscope.diagnosis.areas.cpu.whatif import cfs_steps
from jitterscope.diagnosis.core.snapshot import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How the kernel deviates from the plain rule.

    `tick_us` is 1 / CONFIG_HZ (250 Hz: Debian, Ubuntu before 24.10), `keep_us` what an idle CPU keeps of its slice.
    """

    tick_us: float = 4_000.0
    keep_us: float = 1_000.0


IDEAL = Kernel(tick_us=0.0, keep_us=0.0)
"""Runtime is exact to the microsecond: CPU in a period never exceeds quota + burst."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """The CPU time of the group.

    Shapes: (replicates, periods), and `*_steps_*` (replicates, periods × steps per period). Period k of replicate r
    spans [k · period_us − phase_us[r], …) from the start of the work. `throttled`: counted in nr_throttled.
    `throttled_us`: wall time in which work waited for a refill, 0..period. `throttled_cpu_us`: the same summed over the
    CPUs that waited (cpu.stat). `run_us`: CPU used. `backlog_us`: CPU work waiting at the end. `burst_us`: carried-over
    time used beyond the quota (nr_bursts counts > 0). `active`: counted in nr_periods.
    """

    period_us: float
    step_us: float
    throttled: BoolArray
    throttled_us: FloatArray
    throttled_cpu_us: FloatArray
    run_us: FloatArray
    backlog_us: FloatArray
    burst_us: FloatArray
    active: BoolArray
    run_steps_us: FloatArray
    throttled_steps_us: FloatArray
    backlog_steps_us: FloatArray


def simulate(
    work_us: FloatArray,
    step_us: float,
    *,
    quota_us: float | None,
    period_us: float,
    burst_us: float = 0.0,
    parallelism: float | FloatArray = float("inf"),
    phase_us: float | FloatArray = 0.0,
    kernel: Kernel = Kernel(),
) -> Bandwidth:
    """CPU work (µs per step of `step_us`; NaN counts as 0) through a quota; None or infinite: no limit.

    `work_us`: shape (steps,) or (replicates, steps). The steps of the result are `period_us` / ceil(period_us /
    step_us): the given steps if they divide the period.

    `parallelism`: the CPUs that work can use at once, min(runnable threads, GOMAXPROCS, node CPUs): a number, one per
    replicate (replicates,), or one per step (replicates, steps); waiting work keeps the largest value it arrived with.

    `phase_us`: how far into a period the work starts, a number or (replicates,), in [0, period_us).

    The pool starts full. Costs about 60 ns of CPU per step and replicate (110 ns with parallelism by step). Raises
    ValueError for a burst above the quota (the kernel refuses it) and for numbers that are not positive.
    """
    work = np.nan_to_num(np.atleast_2d(np.asarray(work_us, dtype=np.float64)), nan=0.0)
    quota = float("inf") if quota_us is None else float(quota_us)
    _check(quota, period_us, burst_us, step_us, work)
    grid = cfs_steps.grid_of(work, step_us, period_us, phase_us)
    cpus = cfs_steps.parallelism_on(grid, parallelism, step_us)
    widest = np.where(np.isfinite(cpus), cpus, 1.0).max(axis=(1, 2))[:, np.newaxis]
    overrun = widest * kernel.tick_us / 2
    capacity = quota + burst_us + overrun + widest * kernel.keep_us
    # A group without a limit has a pool that cannot run out.
    limited = np.isfinite(quota)
    refill = quota if limited else 0.0
    capacity = capacity if limited else np.full_like(overrun, np.inf)
    served = cfs_steps.serve(grid, cpus, refill, capacity)

    throttled_steps = served.stopped_us
    throttled_us = throttled_steps.sum(axis=2)
    run_us = served.run_us.sum(axis=2)
    overran = (run_us > served.level_us - overrun + cfs_steps.EPSILON_US) & (run_us > 0)
    throttled = overran | (throttled_us > 0)
    waiting_cpus = np.where(np.isfinite(served.cpus), served.cpus, 1.0)
    pool = np.minimum(served.level_us - overrun, quota + burst_us)
    return Bandwidth(
        period_us=period_us,
        step_us=grid.step_us,
        throttled=throttled,
        throttled_us=throttled_us,
        throttled_cpu_us=(throttled_steps * waiting_cpus).sum(axis=2),
        run_us=run_us,
        backlog_us=served.backlog_us[:, :, -1],
        burst_us=np.clip(np.minimum(run_us, pool) - quota, 0.0, burst_us),
        active=_active(run_us, throttled, kernel.keep_us),
        run_steps_us=served.run_us.reshape(len(work), -1),
        throttled_steps_us=throttled_steps.reshape(len(work), -1),
        backlog_steps_us=served.backlog_us.reshape(len(work), -1),
    )


def _check(quota_us: float, period_us: float, burst_us: float, step_us: float, work_us: FloatArray) -> None:
    if not (quota_us > 0 and period_us > 0 and step_us > 0):
        raise ValueError(f"Quota {quota_us}, period {period_us} and step {step_us} (µs) must be above 0.")
    if not 0 <= burst_us <= quota_us:
        raise ValueError(f"Burst {burst_us} µs: the kernel takes 0 up to the quota ({quota_us} µs).")
    if work_us.size and work_us.min() < 0:
        raise ValueError("Work (µs) must not be negative.")


def _active(run_us: FloatArray, throttled: BoolArray, keep_us: float) -> BoolArray:
    """Periods in which the timer ran: it stops at the end of the second without a slice taken or a debt paid."""
    # A CPU that was idle runs its first millisecond on what it kept.
    slices = np.floor(np.cumsum(run_us, axis=1) / max(keep_us, 1e-3))
    taken = np.diff(slices, axis=1, prepend=0.0) > 0
    busy = taken | throttled
    # The refill after a throttled period pays its debts.
    busy[:, 1:] |= throttled[:, :-1]
    active = busy.copy()
    active[:, 1:] |= busy[:, :-1]
    return np.asarray(active, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Replay:
    """Per period: whether it was throttled, and how much work (µs) was left waiting at its end."""

    throttled: BoolArray
    backlog_us: FloatArray

    @property
    def throttled_periods(self) -> int:
        return int(self.throttled.sum())


def replay(
    demand_us: FloatArray,
    step_us: int,
    quota_us: float,
    period_us: float,
    burst_us: float = 0.0,
    cpus: float = float("inf"),
) -> Replay:
    """Demand per tick (µs of CPU; NaN counts as 0) through a quota; `cpus` bounds what can run at once.

    `simulate` with an ideal kernel, for whole periods. A burst above the quota counts as the quota, which is all that
    the kernel accepts. Demand is assumed to be even within a tick, so throttling shorter than a tick is missed: a lower
    bound.
    """
    if len(demand_us) == 0:
        return Replay(np.zeros(0, dtype=np.bool_), np.zeros(0))
    burst = min(burst_us, quota_us)
    found = simulate(
        np.maximum(np.nan_to_num(demand_us), 0.0),
        step_us,
        quota_us=quota_us,
        period_us=period_us,
        burst_us=burst,
        parallelism=cpus,
        kernel=IDEAL,
    )
    periods = max(1, int(len(demand_us) * step_us // period_us))
    backlog = found.backlog_us[0, :periods]
    # A rounding error is no throttling.
    return Replay(found.throttled[0, :periods] & (backlog > 1e-6 * quota_us), backlog)
