"""Replays CPU demand through CFS bandwidth control (Documentation/scheduler/sched-bwc.rst).

A group may run `quota` per `period`; what it did not use is kept up to `burst`. Work that did not fit waits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.snapshot import FloatArray


@dataclass(frozen=True, slots=True)
class Replay:
    """Per period: was it throttled, and how much work (µs) was left waiting at its end."""

    throttled: np.ndarray[tuple[int], np.dtype[np.bool_]]
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

    Within a tick demand is taken as even, so throttling shorter than a tick is missed: a lower bound.
    """
    work = _per_period(np.nan_to_num(demand_us), step_us, period_us)
    throttled = np.zeros(len(work), dtype=np.bool_)
    backlog = np.zeros(len(work))
    waiting, saved = 0.0, burst_us
    for index, arriving in enumerate(work.tolist()):
        allowed = quota_us + saved
        waiting += arriving
        wanted = min(waiting, cpus * period_us)
        ran = min(wanted, allowed)
        # A rounding error is no throttling.
        throttled[index] = wanted > allowed + 1e-6 * quota_us
        waiting -= ran
        saved = min(burst_us, max(0.0, allowed - ran))
        backlog[index] = waiting
    return Replay(throttled, backlog)


def _per_period(demand_us: FloatArray, step_us: int, period_us: float) -> FloatArray:
    if len(demand_us) == 0:
        return np.zeros(0)
    edges_us = np.arange(len(demand_us) + 1) * float(step_us)
    total = np.concatenate([[0.0], np.cumsum(demand_us)])
    periods = max(1, int(edges_us[-1] // period_us))
    return np.diff(np.interp(np.arange(periods + 1) * period_us, edges_us, total))
