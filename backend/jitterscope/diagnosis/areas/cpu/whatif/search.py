"""The smallest limit, burst, GOMAXPROCS, or number of replicas that reaches a goal by the upper end of the interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jitterscope.diagnosis.areas.cpu.whatif.demand import cpus_of
from jitterscope.diagnosis.areas.cpu.whatif.predict import Prepared, predict
from jitterscope.diagnosis.areas.cpu.whatif.types import Goal, Prediction, Setting
from jitterscope.diagnosis.core.finding import Interval

_STEP = 0.05  # CPUs; finer limits are not used in practice
_BURST_PARTS = 20
# The most that are tried for each one that ran, as for memory.
MOST_REPLICAS = 20


@dataclass(frozen=True, slots=True)
class Result:
    """`value` in CPUs, µs of burst, GOMAXPROCS, or replicas; None if none reaches the goal, and `reason` says why."""

    value: float | None
    reason: str
    prediction: Prediction | None = None


def smallest_limit(prepared: Prepared, goal: Goal) -> Result:
    """CPUs, in steps of 0.05 (of 0.5 from 5, of 5 from 50 on)."""
    trace = prepared.trace
    now = trace.setting
    used = float(prepared.demand.base_us.mean()) / trace.step_us
    peak = max((one.cost_us for one in prepared.demand.bursts), default=0.0) / now.period_us
    # Beyond this nothing can be throttled: the CPUs that can be used at once, or all work at once.
    top = min(cpus_of(trace, now), 4 * peak + 4 * float(prepared.demand.base_us.max()) / trace.step_us + 1)
    values = _limits(max(_STEP, 0.5 * used), max(top, now.cpu_limit or 0.0) + _STEP)

    def setting(value: float) -> Setting:
        return replace(now, cpu_limit=value, burst_us=min(now.burst_us, int(value * now.period_us)))

    found = _least(prepared, goal, values, setting)
    if found is None and prepared.demand.is_hidden:
        return Result(
            None,
            "Throttling hides the demand: it was throttled all the time, so a request may cost more CPU time than was "
            "seen. Raise the limit and measure again.",
            predict(prepared, setting(values[-1])),
        )
    if found is None:
        return _none(prepared, goal, replace(now, cpu_limit=None, burst_us=0), "even without a limit")
    value, said = found
    return Result(value, f"A limit of {value:g} CPUs is the lowest that reaches the goal.", said)


def smallest_burst(prepared: Prepared, goal: Goal) -> Result:
    """µs, in twentieths of the quota."""
    now = prepared.trace.setting
    quota = now.quota_us
    if quota is None:
        return Result(None, "There is no CPU limit, so burst does nothing.")
    values = [math.floor(quota * part / _BURST_PARTS) for part in range(_BURST_PARTS + 1)]
    found = _least(prepared, goal, values, lambda value: replace(now, burst_us=int(value)))
    if found is None:
        return _none(prepared, goal, replace(now, burst_us=int(quota)), "even with a burst as large as the quota")
    value, said = found
    text = (
        "No burst is needed."
        if value == 0
        else f"A burst of {value / 1000:g} ms is the smallest that reaches the goal."
    )
    return Result(float(value), text, said)


def gomaxprocs_for(prepared: Prepared, goal: Goal) -> Result:
    """The largest GOMAXPROCS, up to the current one, that reaches the goal: the smallest change."""
    trace = prepared.trace
    now = trace.setting
    if not trace.is_go or now.gomaxprocs is None:
        return Result(None, "No Go program with a known GOMAXPROCS was seen here.")
    # Fewer CPUs at once throttle less but queue more, so every value can be the first to reach it.
    limit = math.ceil(now.cpu_limit or now.gomaxprocs)
    tried = {now.gomaxprocs, *range(1, min(now.gomaxprocs, 8) + 1), limit, limit - 1, 2 * limit}
    for value in sorted((one for one in tried if 1 <= one <= now.gomaxprocs), reverse=True):
        said, enough = _said(prepared, replace(now, gomaxprocs=value), goal)
        if enough:
            return Result(float(value), f"GOMAXPROCS={value} reaches the goal.", said)
    return _none(prepared, goal, replace(now, gomaxprocs=1), "even with GOMAXPROCS=1")


def fewest_replicas(prepared: Prepared, goal: Goal) -> Result:
    """For each one that ran."""
    now = prepared.trace.setting
    most = replace(now, replicas=float(MOST_REPLICAS))
    said = predict(prepared, most)
    if said.throttled_ratio is None:
        return Result(None, said.cannot_tell or "The recording does not show it.", said)
    values = [float(count) for count in range(1, MOST_REPLICAS + 1)]
    found = _least(prepared, goal, values, lambda value: replace(now, replicas=value))
    if found is None:
        return _none(prepared, goal, most, f"even with {MOST_REPLICAS} times as many replicas")
    value, said = found
    text = "No more replicas are needed." if value == 1 else f"{value:g} times as many replicas reach the goal."
    return Result(value, text, said)


def _least(
    prepared: Prepared, goal: Goal, values: Sequence[float], setting: Callable[[float], Setting]
) -> tuple[float, Prediction] | None:
    """Bisection: a larger value never throttles more."""
    low, high = 0, len(values) - 1
    best, enough = _said(prepared, setting(values[high]), goal)
    if not enough:
        return None
    while low < high:
        middle = (low + high) // 2
        said, enough = _said(prepared, setting(values[middle]), goal)
        if enough:
            high, best = middle, said
        else:
            low = middle + 1
    return values[high], best


def _limits(low: float, high: float) -> list[float]:
    values, value = [], math.ceil(low / _STEP) * _STEP
    while True:
        values.append(round(value, 6))
        if value >= high or len(values) > 2_000:
            return values
        step = _STEP if value < 5 else 10 * _STEP if value < 50 else 100 * _STEP
        value = math.floor(value / step + 1 + 1e-9) * step


def _said(prepared: Prepared, setting: Setting, goal: Goal) -> tuple[Prediction, bool]:
    """The prediction, and whether its upper end reaches the goal.

    "None at all" is never certain from a window: it is reached if three of four windows have none.
    """
    said = predict(prepared, setting)
    if goal.at_most > 0:
        return said, _reaches(said, goal)
    value: Interval | None = getattr(predict(prepared, setting, level=0.5), goal.metric)
    return said, value is not None and value.high <= _least_seen(prepared, setting, goal)


def _least_seen(prepared: Prepared, setting: Setting, goal: Goal) -> float:
    """What an interval adds for the one period or query that a window can always have."""
    seconds = prepared.trace.seconds
    match goal.metric:
        case "throttled_ms_per_min":
            return 0.5 * setting.period_us / 1000 * 60 / seconds * (1 + 1e-9)
        case "throttled_ratio":
            return setting.period_us / (seconds * 1e6 * prepared.active_ratio) * (1 + 1e-9)
        case "slow_ratio":
            return (1 + 1e-9) / max(1.0, float(np.nansum(prepared.trace.arrivals)))
        case _:
            return 0.0


def _reaches(said: Prediction, goal: Goal) -> bool:
    value: Interval | None = getattr(said, goal.metric)
    if value is None:
        return False
    return value.high <= goal.at_most


def _none(prepared: Prepared, goal: Goal, best: Setting, tried: str) -> Result:
    said = predict(prepared, best)
    value: Interval | None = getattr(said, goal.metric)
    if value is None:
        return Result(None, said.cannot_tell or "The recording does not show it.", said)
    why = (
        f"Not reached {tried}: {value.expected:.4g} expected, up to {value.high:.4g}, and the goal is {goal.at_most:g}."
    )
    return Result(None, " ".join((why, *said.notes)), said)
