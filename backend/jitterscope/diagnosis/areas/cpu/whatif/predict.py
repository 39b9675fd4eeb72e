"""What a recorded window would have been like under another setting: `prepare` once, then `predict` each setting.

The demand of the trace (demand.py), or a replica's part of it (replicas.py), with GC paced for the new setting
(gc.py), goes through CFS bandwidth control (cfs.py) and a queue (queueing.py), in replicates that vary like real
windows (uncertainty.py). Each number is the median of the replicates, with an interval, which is widened by the error
of a replay of the recorded setting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.areas.cpu.whatif import gc, latency, replicas, timelines, wording
from jitterscope.diagnosis.areas.cpu.whatif.demand import Demand, cpus_of, decompose
from jitterscope.diagnosis.areas.cpu.whatif.gc import Pacing
from jitterscope.diagnosis.areas.cpu.whatif.latency import Latencies, Seen
from jitterscope.diagnosis.areas.cpu.whatif.replay import Replay, replay
from jitterscope.diagnosis.areas.cpu.whatif.types import Prediction, Setting, Trace
from jitterscope.diagnosis.areas.cpu.whatif.uncertainty import count_swing, interval, widened
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.diagnosis.core.stats import BoolArray, dilate

# Error of the models if there was nothing to compare with (σ of the logarithm).
_MODEL = 0.12
# Variation between runs of one configuration (σ of the logarithm): CPU per query, median latency, p99 without stalls.
_CPU_RUN, _P50_RUN, _P99_RUN = 0.17, 0.22, 0.45
_NEAR_THE_LIMIT = 0.7
_FEW = 5
# Share of the CPUs beyond the first that also wait in a stall, if it was never measured.
_WAITING = 0.7


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trace with everything that does not depend on the setting.

    `waiting`: CPUs beyond the first that wait in a stall, 0..1. `slow_factor`: slow stalled queries relative to those
    of a replay; `residual`: σ of the logarithm of the error of a replay of the recorded setting.
    """

    trace: Trace
    demand: Demand
    latencies: Latencies | None
    active_ratio: float
    waiting: float
    slow_factor: float
    residual: float


def prepare(trace: Trace) -> Prepared:
    demand = decompose(trace)
    throttled = np.nan_to_num(trace.throttled_periods) > 0
    free_gc = ~dilate(throttled, 5, 5) & _gc_mask(trace)
    first = Prepared(
        trace, demand, latency.measure(trace, demand.quiet, free_gc), _active(trace), _WAITING, 1.0, 2 * _MODEL
    )
    return _calibrated(first)


def predict(
    given: Trace | Prepared,
    setting: Setting,
    *,
    timeline: bool = False,
    level: float = 0.9,
    fresh_heap: bool = False,
) -> Prediction:
    """What `setting` would have made of the window; intervals at `level`.

    `fresh_heap`: the window begins with a restart, as after a change of the environment: the heap starts at its live
    size, so the first cycle comes after one whole interval. Otherwise a window is one of many in the long run.

    Entries that the trace does not support are None, and `cannot_tell` says why. Raises ValueError for a quota that is
    not positive, for a burst above it, and for less than one replica.
    """
    prepared = prepare(given) if isinstance(given, Trace) else given
    quota = setting.quota_us
    if quota is not None and (quota <= 0 or not 0 <= setting.burst_us <= quota):
        raise ValueError(f"A quota of {quota:g} µs with a burst of {setting.burst_us} µs: burst is 0 up to the quota.")
    if setting.replicas < 1:
        raise ValueError(f"{setting.replicas:g} replicas for each one: at least 1.")
    why = wording.unsupported(prepared.trace, prepared.demand, setting)
    trace, demand = replicas.one_of(prepared.trace, prepared.demand, setting.replicas)
    pacing = gc.pacing(trace, setting, _mean_cost(demand))
    if why or pacing.ratio is None:
        return _unknown(setting, why or pacing.why or "")
    kept, spread = replicas.cycles_ratio(trace, prepared.demand, demand, setting.replicas)
    pacing = replace(pacing, spread=math.hypot(pacing.spread, spread))
    prepared = replace(prepared, trace=trace, demand=demand)
    run = replay(trace, demand, setting, pacing.ratio or 0.0, pacing.spread, fresh_heap, kept)
    pacing = replace(pacing, ratio=(pacing.ratio or 0.0) * kept)
    clear = _cannot_throttle(prepared, setting, pacing)
    seen = _seen(prepared, run, clear)
    return _prediction(prepared, setting, pacing, run, seen, clear, timeline, level)


def _prediction(
    prepared: Prepared,
    setting: Setting,
    pacing: Pacing,
    run: Replay,
    seen: Seen | None,
    clear: bool,
    timeline: bool,
    level: float,
) -> Prediction:
    trace = prepared.trace
    seconds, cycles = trace.seconds, sum(one.is_gc for one in prepared.demand.bursts)
    unlimited = setting.quota_us is None
    # A window contains a cycle more or less, by chance.
    number = 1 + run.draws.number / max(1, cycles) if cycles and pacing.ratio == 1.0 else np.ones(len(run.throttled))
    cpus = 1 + prepared.waiting * (min(cpus_of(trace, setting), 64.0) - 1)
    stopped = np.zeros_like(run.throttled_us) if clear else run.throttled_us * number
    hit = np.zeros_like(run.throttled) if clear else run.throttled * number
    periods = max(1.0, seconds * 1e6 / setting.period_us * prepared.active_ratio)
    one_period = 0.0 if unlimited or clear else 1.0
    spread = prepared.residual
    throttled_ms = interval(
        stopped * cpus / 1000 * 60 / seconds, level, spread, _grain_ms(setting, seconds, one_period)
    )
    ratio = interval(np.minimum(hit / periods, 1.0), level, spread, one_period / periods, 1.0)
    steady = float(prepared.demand.base_us.sum())
    mean = interval((steady + run.cost_us) / (seconds * 1e6), level, _CPU_RUN)
    counted = _cycles_per_min(trace, pacing, level)
    slow = p50 = p99 = most = None
    # Then the demand is at least what was seen: with more CPU, as much throttling may stay.
    hidden = prepared.demand.is_hidden and (setting.replicas > 1 or _raised(trace.setting, setting))
    if hidden:
        ratio = _up_to(ratio, _recorded_ratio(trace))
    if seen is not None:
        queries = max(1.0, float(np.nansum(trace.arrivals)))
        slow = widened(interval(seen.slow_ratio, level, spread, 1 / queries, 1.0), _hiccups(prepared, level), 1.0)
        if hidden and trace.slow is not None:
            slow = _up_to(slow, min(1.0, float(np.nansum(trace.slow)) / queries))
        near = _near_the_limit(prepared, setting)
        p50 = interval(seen.p50_ms, level, math.hypot(_P50_RUN, near))
        p99 = interval(seen.p99_ms, level, math.hypot(spread, _P99_RUN, near))
        most = interval(seen.max_ms, level, 2 * math.hypot(spread, _P99_RUN))
    return Prediction(
        setting=setting,
        throttled_ms_per_min=throttled_ms,
        throttled_ratio=ratio,
        slow_ratio=slow,
        p50_ms=p50,
        p99_ms=p99,
        max_ms=most,
        gc_cycles_per_min=counted,
        cpu_mean=mean,
        timeline=timelines.simulated(prepared.trace, prepared.demand, run, prepared.latencies) if timeline else None,
        cannot_tell=None if seen is not None else wording.no_latency(trace),
        notes=(
            *pacing.notes,
            *wording.shared(trace, prepared.demand, setting),
            *wording.notes(trace, prepared.demand, setting, ratio.expected / _recorded_ratio(trace)),
        ),
    )


def _raised(was: Setting, to: Setting) -> bool:
    return was.cpu_limit is not None and to.cpu_limit is not None and to.cpu_limit > was.cpu_limit


def _up_to(one: Interval, high: float) -> Interval:
    return one.model_copy(update={"high": max(one.high, high)})


def _seen(prepared: Prepared, run: Replay, clear: bool) -> Seen | None:
    trace, known = prepared.trace, prepared.latencies
    if known is None:
        return None
    arrivals = np.nan_to_num(trace.arrivals)
    plan = run.layout
    inside = plan.steps_of(arrivals, trace.step_us)
    factor = np.ones(len(run.cost_us)) if known.gc_measured else np.exp(0.5 * run.draws.extra)
    wait = np.zeros_like(run.wait_us) if clear else run.wait_us
    outside = float(arrivals.sum() - inside.sum())
    return latency.combine(
        known, wait, inside, run.in_burst, outside, float(trace.slow_threshold_us), factor, prepared.slow_factor
    )


def _calibrated(prepared: Prepared) -> Prepared:
    """Calibrate by comparing a replay of the recorded setting with the recording."""
    trace = prepared.trace
    recorded_ms = float(np.nansum(trace.throttled_us)) / 1000
    recorded = float(np.nansum(trace.throttled_periods))
    if recorded < 1 or trace.setting.quota_us is None:
        return prepared
    run = replay(trace, prepared.demand, trace.setting, 1.0, 0.0, False)
    modelled, wall_ms = float(np.median(run.throttled)), float(np.median(run.throttled_us)) / 1000
    if modelled < 1 or wall_ms <= 0:
        return replace(prepared, residual=0.6)
    off = [math.log(modelled / recorded)]
    waiting, extra = prepared.waiting, cpus_of(trace, trace.setting) - 1
    if recorded_ms > 0 and 0 < extra < 64:
        # Per stall, so that a miscount of stalls is not mistaken for another number of CPUs.
        per_stall = (recorded_ms / recorded) / (wall_ms / modelled)
        waiting = float(np.clip((per_stall - 1) / extra, 0.0, 1.0))
    slow_factor = 1.0
    seen = _seen(prepared, run, clear=False)
    if seen is not None and trace.slow is not None and prepared.latencies is not None:
        queries = max(1.0, float(np.nansum(trace.arrivals)))
        was = float(np.nansum(trace.slow)) / queries - prepared.latencies.slow_quiet
        said = float(np.median(seen.slow_ratio)) - prepared.latencies.slow_quiet
        # A few queries more or less are chance, and so is half of the rest.
        apart = math.log((max(said, 0.0) * queries + _FEW) / (max(was, 0.0) * queries + _FEW))
        off.append(apart)
        slow_factor = float(np.clip(math.exp(-0.5 * apart), 0.5, 2.0))
    # The error can be as large in the other direction; a single window says little, so never less than the models' own
    # error.
    residual = math.hypot(_MODEL, 0.5 * math.sqrt(sum(one * one for one in off) / len(off)))
    return replace(prepared, waiting=waiting, slow_factor=slow_factor, residual=min(residual, 0.8))


def _cannot_throttle(prepared: Prepared, setting: Setting, pacing: Pacing) -> bool:
    """No limit; or nothing was throttled, and the setting gives at least as much without more concurrent demand."""
    trace, was = prepared.trace, prepared.trace.setting
    if setting.quota_us is None:
        return True
    if was.quota_us is None or np.nansum(trace.throttled_periods) > 0 or (pacing.ratio or 0.0) > 1.0:
        return False
    return (
        setting.period_us == was.period_us
        and setting.quota_us >= was.quota_us
        and setting.burst_us >= was.burst_us
        and cpus_of(trace, setting) <= cpus_of(trace, was)
    )


def _recorded_ratio(trace: Trace) -> float:
    """Share of throttled periods; at least one of them, so that it can be a divisor."""
    return max(1.0, float(np.nansum(trace.throttled_periods))) / max(1.0, float(np.nansum(trace.periods)))


def _gc_mask(trace: Trace) -> BoolArray:
    mask = np.zeros(len(trace.usage_us), dtype=np.bool_)
    for one in trace.gc:
        # Ticks that it fills by at least half.
        first = round((one.start_us - trace.start_us) / trace.step_us)
        last = round((one.end_us - trace.start_us) / trace.step_us)
        mask[max(0, first) : max(0, last)] = True
    return mask


def _active(trace: Trace) -> float:
    """Share of the time in which the kernel counts periods: its timer stops when the group idles."""
    known = np.isfinite(trace.periods)
    if not known.any() or trace.setting.quota_us is None:
        return 1.0
    counted = float(trace.periods[known].sum()) * trace.setting.period_us
    return float(np.clip(counted / (float(known.sum()) * trace.step_us), 0.01, 1.0))


def _hiccups(prepared: Prepared, level: float) -> float:
    """Share of queries that hiccups of node and network can make slow or not, whatever the setting."""
    known, trace = prepared.latencies, prepared.trace
    if known is None:
        return 0.0
    # A hiccup that makes anything slow lasts as long as the threshold, and half as long again to be seen.
    each = 1.5 * trace.slow_threshold_us / 1e6 / trace.seconds
    if known.hiccups:
        each = max(each, known.slow_quiet / known.hiccups)
    return count_swing(known.hiccups, level) * each


def _near_the_limit(prepared: Prepared, setting: Setting) -> float:
    """Possible error of latency (σ of the logarithm) if load nearly fills the limit: small errors build up queues."""
    limit = min(cpus_of(prepared.trace, setting), setting.cpu_limit or math.inf)
    share = float(prepared.demand.base_us.mean()) / prepared.trace.step_us / limit
    return float(np.clip((share - 0.7) / 0.3, 0.0, 1.0)) * _NEAR_THE_LIMIT


def _mean_cost(demand: Demand) -> float:
    costs = [one.cost_us for one in demand.bursts if one.is_gc]
    return float(np.mean(costs)) if costs else 0.0


def _grain_ms(setting: Setting, seconds: float, periods: float) -> float:
    """Half a period of stalling, ms/min."""
    return periods * 0.5 * setting.period_us / 1000 * 60 / seconds


def _cycles_per_min(trace: Trace, pacing: Pacing, level: float) -> Interval | None:
    if pacing.ratio is None or (not trace.gc and not trace.gc_exact):
        return None
    count = sum(one.end_us <= trace.start_us + trace.seconds * 1e6 for one in trace.gc)
    rate = count * 60 / trace.seconds * pacing.ratio
    values: FloatArray = rate * np.exp(pacing.spread * np.linspace(-1.7, 1.7, 21))
    return interval(values, level, 0.1, 60 / trace.seconds)


def _unknown(setting: Setting, why: str) -> Prediction:
    return Prediction(setting, None, None, None, None, None, None, None, None, cannot_tell=why)
