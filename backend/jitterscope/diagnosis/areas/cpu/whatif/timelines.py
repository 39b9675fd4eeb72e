"""The recorded window as it would have been, tick by tick: the first replicate of a replay on the trace's own grid."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.cpu.whatif.demand import Demand
from jitterscope.diagnosis.areas.cpu.whatif.latency import Latencies
from jitterscope.diagnosis.areas.cpu.whatif.replay import Replay
from jitterscope.diagnosis.areas.cpu.whatif.types import GcCycle, SimulatedTimeline, Trace


def simulated(trace: Trace, demand: Demand, run: Replay, known: Latencies | None) -> SimulatedTimeline:
    step, plan = trace.step_us, run.layout
    parts = plan.parts(step)
    used, stopped = demand.base_us.copy(), np.zeros(len(demand.base_us))
    used[plan.ticks] = run.run_steps_us[0].reshape(-1, parts).sum(axis=1)
    stopped[plan.ticks] = np.minimum(run.throttled_steps_us[0].reshape(-1, parts).sum(axis=1), float(step))
    latency = np.full(len(used), np.nan)
    if known is not None:
        asked = np.nan_to_num(trace.arrivals) > 0
        latency[asked] = known.typical_us
        waits = run.wait_us[0].reshape(-1, parts).max(axis=1) + known.typical_us
        latency[plan.ticks] = np.where(asked[plan.ticks], waits, np.nan)
    return SimulatedTimeline(
        start_us=trace.start_us,
        step_us=step,
        cpu_ratio=used / step,
        throttled_us=stopped,
        latency_max_us=latency,
        gc=_cycles(trace, run, parts),
    )


def _cycles(trace: Trace, run: Replay, parts: int) -> tuple[GcCycle, ...]:
    """From each start until its work is done."""
    ticks, busy = run.layout.ticks, run.in_burst[0]
    found = []
    for start in sorted(run.start_us.tolist()):
        slot = int(np.searchsorted(ticks, int(start // trace.step_us)))
        first = min(slot * parts + int((start % trace.step_us) / trace.step_us * parts), len(busy) - 1)
        idle = np.flatnonzero(~busy[first + 1 :])
        steps = (int(idle[0]) + 1) if len(idle) else len(busy) - first
        end = start + steps * trace.step_us / parts
        found.append(GcCycle(trace.start_us + int(start), trace.start_us + int(end)))
    return tuple(found)
