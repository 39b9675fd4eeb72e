"""How long queries wait while the group is stalled or GC runs before them: a fluid first-come-first-served queue.

Arrivals wait; afterwards the queue drains as fast as the remaining CPUs allow. Marking that is due goes first
(whatif/gc.py), marking in idle time last, so a queue is drained by what the quota leaves it. With
cumulative arrivals A and a service curve B, the work done is min over s of A(s) + B(t) - B(s), and the wait of an
arrival is the horizontal distance (Le Boudec and Thiran, Network Calculus, 2001, ch. 1).

Limits: single queries have no individual size; queries lost in a full socket buffer count as waiting.
"""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.core.stats import BoolArray

_APART = 1e10  # µs of CPU; more than any one busy stretch


def waits_us(
    queries_us: FloatArray, due_us: FloatArray, run_us: FloatArray, backlog_us: FloatArray, step_us: float
) -> tuple[FloatArray, BoolArray]:
    """(wait of arrivals in the middle of each step, whether anything waits at its end). Shapes (replicates, steps).

    `queries_us`: CPU of arriving queries per step, `due_us`: of marking that goes first, `run_us`: what the group ran,
    `backlog_us`: what was left at the end of the step.
    """
    busy = backlog_us > 1.0
    fresh = np.ones_like(busy)
    fresh[:, 1:] = ~busy[:, :-1]
    # Each busy stretch starts anew: an offset below all earlier values lets one running minimum serve all of them.
    stretch = np.asarray(np.cumsum(fresh, axis=1) * _APART, dtype=np.float64)
    ran = np.cumsum(run_us, axis=1)
    asked = np.cumsum(queries_us, axis=1)
    ahead = _served(np.cumsum(due_us, axis=1), due_us, ran, run_us, stretch)
    left = np.maximum(run_us - np.diff(ahead, axis=1, prepend=0.0), 0.0)
    done = _served(asked, queries_us, np.cumsum(left, axis=1), left, stretch)
    # If nothing waits, everything that arrived is done.
    done = np.where(busy, np.minimum(done, asked), asked)
    done = np.maximum.accumulate(done, axis=1)
    wait = np.zeros_like(run_us)
    ends = np.arange(1, run_us.shape[1] + 1) * step_us
    for row in range(len(run_us)):
        late = np.flatnonzero(busy[row])
        if len(late):
            middle = asked[row, late] - 0.5 * queries_us[row, late]
            # Strictly increasing, so that a plateau (a stall) is left at its end.
            curve = done[row] + np.arange(len(ends)) * 1e-7
            wait[row, late] = np.maximum(0.0, np.interp(middle, curve, ends) - (ends[late] - 0.5 * step_us))
    return wait, busy


def _served(
    asked: FloatArray, arriving: FloatArray, could: FloatArray, service: FloatArray, stretch: FloatArray
) -> FloatArray:
    """Cumulative work done of `asked` if at most `could` (cumulative) is served, starting anew with each stretch."""
    behind = (asked - arriving) - (could - service) - stretch
    np.minimum.accumulate(behind, axis=1, out=behind)
    return np.minimum(asked, behind + stretch + could)
