"""The arithmetic behind `cfs.simulate`: work on a grid of steps that divides the period, served by running minima."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray

EPSILON_US = 1e-3
"""Less than this is a rounding error: totals reach 1e10 µs, where doubles are exact to 2e-6."""


@dataclass(frozen=True, slots=True)
class Grid:
    """`arrived_us`: work arrived since the start, at the end of each step, shape (replicates, periods, steps)."""

    step_us: float
    arrived_us: FloatArray
    phase_us: FloatArray  # (replicates,)


@dataclass(frozen=True, slots=True)
class Served:
    """Results per step, shape (replicates, periods, steps).

    CPU run, wall time stopped, work waiting at the end, and the `cpus` that waiting work could use. `level_us`
    (replicates, periods): the pool after the refill that starts a period.
    """

    run_us: FloatArray
    stopped_us: FloatArray
    backlog_us: FloatArray
    cpus: FloatArray
    level_us: FloatArray


def grid_of(work_us: FloatArray, step_us: float, period_us: float, phase_us: float | FloatArray) -> Grid:
    """Work (replicates, steps) on the coarsest grid that divides the period and is no coarser than the steps."""
    replicates, steps = work_us.shape
    phase = np.broadcast_to(np.asarray(phase_us, dtype=np.float64), (replicates,))
    if replicates and not (phase.min() >= 0 and phase.max() < period_us):
        raise ValueError(f"A phase must be in [0, {period_us}) µs.")
    per_period = max(1, math.ceil(period_us / step_us - 1e-9))
    grid_us = period_us / per_period
    last = float(phase.max()) if replicates else 0.0
    periods = max(1, math.ceil((steps * step_us + last) / period_us - 1e-9))
    width = periods * per_period
    if grid_us == step_us and not phase.any():
        arrived = np.zeros((replicates, width))
        np.cumsum(work_us, axis=1, out=arrived[:, :steps])
        arrived[:, steps:] = arrived[:, steps - 1 : steps] if steps else 0.0
    else:
        arrived = np.empty((replicates, width))
        edges = np.arange(steps + 1) * float(step_us)
        total = np.zeros(steps + 1)
        at = np.arange(1, width + 1) * grid_us
        for row in range(replicates):
            np.cumsum(work_us[row], out=total[1:])
            arrived[row] = np.interp(at - phase[row], edges, total)
    return Grid(grid_us, arrived.reshape(replicates, periods, per_period), phase)


def parallelism_on(grid: Grid, parallelism: float | FloatArray, step_us: float) -> FloatArray:
    """As (replicates, 1, 1) if it is constant, else (replicates, periods, steps). ValueError if not above 0."""
    replicates, periods, per_period = grid.arrived_us.shape
    given = np.asarray(parallelism, dtype=np.float64)
    if given.size and not given.min() > 0:
        raise ValueError("Parallelism (CPUs) must be above 0.")
    if given.ndim == 2 and not np.isfinite(given).all():
        raise ValueError("Parallelism (CPUs) that changes from step to step must be finite.")
    if given.ndim < 2:
        return np.broadcast_to(given, (replicates,)).reshape(replicates, 1, 1)
    middle = (np.arange(periods * per_period) + 0.5) * grid.step_us
    found = np.empty((replicates, periods * per_period))
    for row in range(replicates):
        source = given[row if len(given) > 1 else 0]
        index = np.clip((middle - grid.phase_us[row]) // step_us, 0, len(source) - 1).astype(np.int64)
        found[row] = source[index]
    return found.reshape(grid.arrived_us.shape)


def serve(grid: Grid, cpus: FloatArray, quota_us: float, capacity_us: FloatArray) -> Served:
    """`quota_us` is added at each period's start, up to `capacity_us` (replicates, 1); the pool starts full."""
    arrived = grid.arrived_us
    if cpus.shape[1:] != (1, 1):
        first = _at_rate(_from_pool(arrived, quota_us, capacity_us), cpus, grid.step_us)
        cpus = _kept_while_waiting(arrived - first, cpus)
    done = _at_rate(_from_pool(arrived, quota_us, capacity_us), cpus, grid.step_us)
    level, limit = _level(done, quota_us, capacity_us)
    for _ in range(4):
        # If parallelism changes, work taken from the pool can be delayed and finish when the pool is empty.
        if not (done[:, :, -1] > limit + EPSILON_US).any():
            break
        done = _from_pool(_at_rate(_from_pool(done, quota_us, capacity_us), cpus, grid.step_us), quota_us, capacity_us)
        level, limit = _level(done, quota_us, capacity_us)
    before = _shifted(done)
    run = done - before
    backlog = np.maximum(arrived - done, 0.0)
    limited = bool(np.isfinite(capacity_us).all())
    stopped = _stopped(grid, cpus, before, limit) if limited else np.zeros_like(done)
    return Served(run, stopped, backlog, cpus, level)


def _from_pool(arrived: FloatArray, quota_us: float, capacity_us: FloatArray) -> FloatArray:
    """The work that a pool passes at once: arrivals up to what it held since any earlier refill."""
    refills = np.arange(arrived.shape[1]) * quota_us
    at_start = _shifted(arrived)[:, :, 0]
    limit: FloatArray = np.minimum.accumulate(at_start - refills, axis=1) + refills + capacity_us
    return np.minimum(arrived, limit[:, :, np.newaxis])


def _at_rate(passed: FloatArray, cpus: FloatArray, step_us: float) -> FloatArray:
    """The part of it that `cpus` can run by the end of each step."""
    bounded = np.isfinite(cpus)
    if not bounded.any():
        return passed
    flat = passed.reshape(len(passed), -1)
    if cpus.shape[1:] == (1, 1):
        could = np.arange(1, flat.shape[1] + 1) * (np.where(bounded, cpus, 1.0)[:, :, 0] * step_us)
    else:
        could = np.cumsum(cpus.reshape(flat.shape) * step_us, axis=1)
    behind = flat - could
    np.minimum.accumulate(behind, axis=1, out=behind)
    # Before the first step there is no backlog.
    np.minimum(behind, 0.0, out=behind)
    behind += could
    ran: FloatArray = behind.reshape(passed.shape)
    return ran if bounded.all() else np.where(bounded, ran, passed)


def _level(done: FloatArray, quota_us: float, capacity_us: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The pool after each refill, and the total that can have run by the end of that period."""
    refills = np.arange(done.shape[1]) * quota_us
    at_start = _shifted(done)[:, :, 0]
    limit: FloatArray = np.minimum.accumulate(at_start - refills, axis=1) + refills + capacity_us
    return limit - at_start, limit


def _stopped(grid: Grid, cpus: FloatArray, before: FloatArray, limit: FloatArray) -> FloatArray:
    """Wall time in each step from the point where the pool ran out, if work was waiting."""
    start = _shifted(grid.arrived_us)
    arriving = grid.arrived_us - start
    waiting = np.maximum(start - before, 0.0)
    room = limit[:, :, np.newaxis] - before
    full_us = cpus * grid.step_us
    wanted = np.minimum(waiting + arriving, full_us)
    pace = np.where(waiting > EPSILON_US, full_us, np.minimum(arriving, full_us))
    ran_out = np.clip(room / np.maximum(pace, EPSILON_US), 0.0, 1.0)
    return np.where(wanted > room + EPSILON_US, grid.step_us * (1.0 - ran_out), 0.0)


def _kept_while_waiting(backlog_us: FloatArray, cpus: FloatArray) -> FloatArray:
    """Waiting work still has its threads: the largest parallelism since the wait began."""
    flat = np.ascontiguousarray(cpus).reshape(len(cpus), -1)
    waits = backlog_us.reshape(flat.shape) > EPSILON_US
    fresh = np.ones_like(waits)
    fresh[:, 1:] = ~waits[:, :-1]
    # Each wait gets an offset above all values before it, so one running maximum serves all of them.
    offset = np.cumsum(fresh, axis=1) * (float(flat.max()) + 1.0)
    return np.asarray(np.maximum.accumulate(flat + offset, axis=1) - offset).reshape(backlog_us.shape)


def _shifted(total: FloatArray) -> FloatArray:
    """The running total at the start of each step."""
    flat = total.reshape(len(total), -1)
    before = np.zeros_like(flat)
    before[:, 1:] = flat[:, :-1]
    return before.reshape(total.shape)
