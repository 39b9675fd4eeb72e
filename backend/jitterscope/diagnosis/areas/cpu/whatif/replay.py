"""Replays a trace's demand under a setting, in many replicates at once: CFS bandwidth control, then the query queue."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.areas.cpu.whatif import cfs, gc, layout, queueing, uncertainty
from jitterscope.diagnosis.areas.cpu.whatif.demand import Burst, Demand, cpus_of
from jitterscope.diagnosis.areas.cpu.whatif.layout import Layout
from jitterscope.diagnosis.areas.cpu.whatif.types import Setting, Trace
from jitterscope.diagnosis.areas.cpu.whatif.uncertainty import Draws
from jitterscope.diagnosis.core.snapshot import FloatArray, IntArray
from jitterscope.diagnosis.core.stats import BoolArray

_HOT_LOAD = 0.7  # of the quota: even load above it can use up a period's quota
_RARE = 2
_FAIR = 0.5  # of a CPU: the share that one thread of another program takes from the queries


@dataclass(frozen=True, slots=True)
class Replay:
    """The results of the replicates; (R,) each, or (R, steps) on the layout's steps.

    `throttled_us` wall time, `throttled` periods, both over the whole window; `cycles` that occurred; `cost_us` CPU of
    the bursts. `wait_us` of queries that arrive in a step, `in_gc`: a burst's work is waiting or running there.
    """

    layout: Layout
    draws: Draws
    throttled_us: FloatArray
    throttled: FloatArray
    cycles: FloatArray
    cost_us: FloatArray
    wait_us: FloatArray
    in_burst: BoolArray
    run_steps_us: FloatArray
    throttled_steps_us: FloatArray
    start_us: FloatArray  # (bursts,) of the first replicate, trace time


def replay(
    trace: Trace,
    demand: Demand,
    setting: Setting,
    ratio: float,
    spread: float,
    fresh_heap: bool,
    kept: float = 1.0,
) -> Replay:
    """`ratio`: GC cycles then relative to cycles now, with its lognormal spread; `kept`: the part of them that remains.

    `fresh_heap`: as in predict.predict.
    """
    cpus = cpus_of(trace, setting)
    slots, others = _slots(trace, demand, ratio)
    bursts = slots + others
    rows = demand.base_us[np.newaxis] if demand.replicates_us is None else demand.replicates_us
    hot = _hot(trace, rows.max(axis=0), bursts, setting, cpus)
    plan = layout.plan(hot, trace.step_us, setting.period_us)
    draws = uncertainty.draws(plan.replicates, len(bursts))
    costs, starts = _drawn(trace, demand, slots, others, draws, (ratio, spread, kept), fresh_heap)
    shape = (plan.replicates, len(plan.ticks) * plan.parts(trace.step_us))
    step = trace.step_us / plan.parts(trace.step_us)
    queries = np.broadcast_to(plan.steps_of(rows, trace.step_us), shape)
    work = queries.copy()
    due = np.zeros(shape)
    is_gc = np.array([one.is_gc for one in bursts], dtype=np.bool_)
    if bursts:
        at = plan.place(starts.ravel(), trace.step_us).reshape(starts.shape)
        spreads = np.array([_spread(one, trace, setting) for one in bursts])
        _spread_out(work, at, np.broadcast_to(spreads, at.shape), costs, step)
        # Another program's burst shares CPUs with the queries; due marking goes first.
        rates = np.where(is_gc, cpus if trace.gc_stops else gc.goes_first_cpus(cpus), _FAIR)
        _spread_out(due, at, costs / rates, costs, step)
    quota = setting.quota_us
    ran = cfs.simulate(
        work,
        step,
        quota_us=quota,
        period_us=float(setting.period_us),
        burst_us=0.0 if quota is None else min(float(setting.burst_us), quota),
        parallelism=cpus,
        phase_us=draws.phase * setting.period_us * (1 - 1e-9),
    )
    run, backlog, stopped = (
        _on_steps(values, ran.step_us, draws.phase * setting.period_us, step, shape[1], how)
        for values, how in ((ran.run_steps_us, "sum"), (ran.backlog_steps_us, "last"), (ran.throttled_steps_us, "sum"))
    )
    wait, busy = queueing.waits_us(queries, due, run, backlog, step)
    return Replay(
        layout=plan,
        draws=draws,
        throttled_us=ran.throttled_us.sum(axis=1),
        throttled=ran.throttled.sum(axis=1).astype(np.float64),
        cycles=(costs[:, is_gc] > 0).sum(axis=1).astype(np.float64) if bursts else np.zeros(plan.replicates),
        cost_us=costs.sum(axis=1) if bursts else np.zeros(plan.replicates),
        wait_us=wait,
        in_burst=busy | (work > queries + 1.0),
        run_steps_us=run,
        throttled_steps_us=stopped,
        start_us=starts[0][is_gc & (costs[0] > 0)] if bursts else np.zeros(0),
    )


def _slots(trace: Trace, demand: Demand, ratio: float) -> tuple[list[Burst], list[Burst]]:
    """GC cycles of the window under the new pacing (positions, with costs drawn later), and all other bursts."""
    cycles = [one for one in demand.bursts if one.is_gc]
    others = [one for one in demand.bursts if not one.is_gc]
    if not cycles or ratio == 1.0:
        return cycles, others
    wanted = len(cycles) * ratio
    if ratio < 1.0:
        # Rarer: as now, but only some of them.
        every = np.linspace(0, len(cycles) - 1, min(len(cycles), math.ceil(wanted + 1)))
        return [cycles[int(index)] for index in every.round()], others
    # More frequent: evenly over the window, at most one per tick.
    count = min(math.ceil(wanted), len(trace.usage_us))
    mean = float(np.mean([one.cost_us for one in cycles]))
    length = trace.seconds * 1e6
    return [Burst((k + 0.5) * length / count, 0.0, mean, True, True) for k in range(count)], others


def _drawn(
    trace: Trace,
    demand: Demand,
    slots: list[Burst],
    others: list[Burst],
    draws: Draws,
    pacing: tuple[float, float, float],
    fresh_heap: bool,
) -> tuple[FloatArray, FloatArray]:
    """(costs, starts) of every burst in every replicate, µs; cost 0: it does not occur.

    `pacing`: ratio, its spread, and the part that remains.
    """
    ratio, spread, kept = pacing
    bursts = slots + others
    own = np.array([one.cost_us for one in bursts])
    pool = np.sort([one.cost_us for one in demand.bursts if one.is_gc]) if slots else np.zeros(0)
    costs = np.broadcast_to(own, (len(draws.phase), len(bursts))).copy()
    if slots:
        costs[1:, : len(slots)] = pool[(draws.pick[1:, : len(slots)] * len(pool)).astype(np.int64)]
        cycles = sum(one.is_gc for one in demand.bursts)
        wanted = cycles * ratio * kept * np.exp(spread * draws.extra)
        order = np.arange(len(slots)) if kept == 1.0 else _evenly(len(slots))
        if ratio != 1.0 or kept != 1.0:
            # A window of the long run begins anywhere between two cycles, a fresh heap just after one.
            come = np.floor(wanted if fresh_heap else wanted + draws.present)
            # Which of the positions are taken does not matter, only how many.
            costs[:, : len(slots)] *= order < come[:, np.newaxis]
    if len(others) <= _RARE:
        # What occurred once may not occur in another window (Poisson: in 37 of 100).
        costs[1:, len(slots) :] *= draws.pick[1:, len(slots) :] > math.exp(-1)
    costs *= draws.cost[:, np.newaxis]
    throttled = np.array([one.throttled for one in bursts], dtype=np.bool_)
    starts = np.array([one.start_us for one in bursts]) + draws.shift * trace.step_us * throttled
    last = len(trace.usage_us) * trace.step_us - 1.0
    return costs, np.clip(starts, 0.0, last)


def _spread(one: Burst, trace: Trace, setting: Setting) -> float:
    """A burst that ran unthrottled takes as long, unless it can now use more CPUs; a delayed one arrives at once."""
    if one.throttled:
        return 0.0
    faster = max(1.0, cpus_of(trace, setting) / cpus_of(trace, trace.setting))
    return one.spread_us / faster


def _evenly(count: int) -> IntArray:
    """The order in which positions are taken, so that the first ones of it always lie about evenly over the window."""
    bits = max(1, (count - 1).bit_length())
    reversed_bits = [int(f"{at:0{bits}b}"[::-1], 2) for at in range(count)]
    return np.argsort(np.argsort(reversed_bits, kind="stable"), kind="stable")


def _hot(trace: Trace, base_us: FloatArray, bursts: list[Burst], setting: Setting, cpus: float) -> BoolArray:
    """Ticks in which something can wait under this setting; `base_us` of the replicate with the most."""
    step, n = trace.step_us, len(base_us)
    limit = min(cpus, setting.cpu_limit if setting.cpu_limit is not None else math.inf)
    hot = base_us > _HOT_LOAD * limit * step
    mean = float(base_us.mean()) / step if n else 0.0
    spare = max(limit - mean, 0.1 * limit)
    for one in bursts:
        # With the cost of a bad replicate.
        last = one.start_us + one.spread_us + 2.0 * one.cost_us / spare + setting.period_us
        hot[int(one.start_us // step) : min(n, int(last // step) + 1)] = True
    return hot


def _spread_out(
    into: FloatArray, at_us: FloatArray, length_us: FloatArray, cost_us: FloatArray, step_us: float
) -> None:
    """Add each cost (R, bursts) evenly over [at, at + length) of its replicate's steps."""
    rows, width = into.shape
    length = np.maximum(length_us, step_us * 1e-3)
    # A slope starts and another ends: two corners of a piecewise linear running total.
    slope = cost_us / length
    rate = np.zeros((rows, width + 2))
    offset = np.zeros((rows, width + 2))
    row = np.broadcast_to(np.arange(rows)[:, np.newaxis], at_us.shape)
    for moment, sign in ((at_us, 1.0), (at_us + length, -1.0)):
        first = np.clip(np.floor(moment / step_us).astype(np.int64), 0, width)
        part = np.clip(first * step_us + step_us - moment, 0.0, step_us)
        # In its own step the slope acts for the remainder, in all later ones fully.
        np.add.at(offset, (row, first), sign * slope * part)
        np.add.at(rate, (row, first + 1), sign * slope * step_us)
    into += np.maximum(offset[:, :width] + np.cumsum(rate, axis=1)[:, :width], 0.0)


def _on_steps(
    values: FloatArray, from_us: float, phase_us: FloatArray, step_us: float, width: int, how: str
) -> FloatArray:
    """From the grid of the periods (which starts `phase_us` before the work) back to the work's steps."""
    rows = len(values)
    out = np.empty((rows, width))
    edges = np.arange(values.shape[1] + 1) * from_us
    ends = np.arange(width + 1) * step_us
    total = np.zeros(values.shape[1] + 1)
    for row in range(rows):
        at = ends + phase_us[row]
        if how == "sum":
            np.cumsum(values[row], out=total[1:])
            out[row] = np.diff(np.interp(at, edges, total))
        else:
            out[row] = np.interp(at[1:], edges[1:], values[row])
    return out
