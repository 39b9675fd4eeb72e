"""The CPU model as a what-if: the recorded demand under another limit, period, burst, or Go settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast, get_args

import numpy as np

from jitterscope.diagnosis.areas.cpu.quantities import GC_CYCLES_PER_MIN, THROTTLED_MS_PER_MIN, THROTTLED_RATIO
from jitterscope.diagnosis.areas.cpu.whatif.predict import Prepared, predict, prepare
from jitterscope.diagnosis.areas.cpu.whatif.search import (
    MOST_REPLICAS,
    Result,
    fewest_replicas,
    gomaxprocs_for,
    smallest_burst,
    smallest_limit,
)
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.areas.cpu.whatif.types import GcCycle, Metric, Prediction, Setting, Trace
from jitterscope.diagnosis.areas.cpu.whatif.types import Goal as SearchGoal
from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.quantity import Quantity
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.sketch import quantile_us
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot
from jitterscope.diagnosis.core.whatif import (
    Answer,
    Course,
    Figure,
    Goal,
    InvalidSettingError,
    Range,
    Searched,
    Settings,
    Timeline,
    Trials,
    Tried,
)

# min_cfs_quota_period of kernel/sched/core.c.
_LEAST_QUOTA_US = 1_000
_FIGURES = (
    THROTTLED_MS_PER_MIN, THROTTLED_RATIO, impact.SLOW_RATIO, impact.P50, impact.P99, impact.MAX, GC_CYCLES_PER_MIN,
    impact.CPU_MEAN,
)  # fmt: skip
# Recorded figures that are not predicted.
_COUNTS = (Quantity("seconds", "Recorded time in seconds", "1", better="none"), impact.QUERIES)
_SEARCHES: Mapping[str, Callable[[Prepared, SearchGoal], Result]] = {
    "cpu_limit": smallest_limit,
    "burst_us": smallest_burst,
    "gomaxprocs": gomaxprocs_for,
    "replicas": fewest_replicas,
}
# Settings that null switches off; for the others null is the same as omitting it.
_CAN_BE_OFF = ("cpu_limit", "gogc", "gomemlimit_bytes")
_COUNTED = ("period_us", "burst_us", "gomaxprocs", "gomemlimit_bytes")


@reading
def _prepared(snapshot: Snapshot) -> Prepared | str:
    trace = from_snapshot(snapshot)
    return trace if isinstance(trace, str) else prepare(trace)


def answer(snapshot: Snapshot, trials: Trials) -> Answer:
    """Answer the what-if; raises InvalidSettingError for an impossible setting."""
    prepared = _prepared(snapshot)
    if isinstance(prepared, str):
        return Answer(cannot_tell=prepared)
    trace = prepared.trace
    settings = [_setting(trace.setting, number, change) for number, change in enumerate(trials.settings)]
    known = recorded(trace)
    return Answer(
        settings=_values(trace.setting),
        figures=tuple(Figure(one.id, one.title, one.unit, value=known[one.id]) for one in (*_FIGURES, *_COUNTS)),
        timeline=_recorded_timeline(trace) if trials.timeline else None,
        tried=tuple(_tried(predict(prepared, one, timeline=trials.timeline)) for one in settings),
        searched=None if trials.goal is None else _searched(prepared, trials.goal),
        slow_threshold_us=trace.slow_threshold_us,
        ranges={
            "replicas": Range(1, MOST_REPLICAS),
            **({"cpu_limit": Range(0.05, trace.node_cpus)} if math.isfinite(trace.node_cpus) else {}),
        },
    )


def recorded(trace: Trace) -> dict[str, float | None]:
    """Measured figures over the ticks that have data; quantiles from the histograms of every answer."""
    known = trace.usage_us[np.isfinite(trace.usage_us)]
    seconds = len(known) * trace.step_us / 1e6
    minutes = seconds / 60
    throttled_us, periods, ended = _sum(trace.throttled_us), _sum(trace.periods), _sum(trace.throttled_periods)
    queries, slow = _sum(trace.arrivals), None if trace.slow is None else _sum(trace.slow)
    histogram = trace.latency_histogram
    quantiles: list[float | None] = [None, None]
    if histogram is not None and histogram.count.sum() > 0:
        quantiles = [quantile_us(histogram.bucket, histogram.count, q) / 1000 for q in (0.5, 0.99)]
    singles = trace.latency_us
    return {
        "seconds": seconds,
        "queries": None if queries is None else float(round(queries)),
        "throttled_ms_per_min": None if throttled_us is None or not minutes else throttled_us / 1000 / minutes,
        "throttled_ratio": None if ended is None or not periods else ended / periods,
        "slow_ratio": None if slow is None or not queries else min(1.0, slow / queries),
        "p50_ms": quantiles[0],
        "p99_ms": quantiles[1],
        # The slowest is always among the single queries: slow ones are always kept.
        "max_ms": float(singles.max()) / 1000 if singles is not None and len(singles) else None,
        "gc_cycles_per_min": len(trace.gc) / minutes if trace.gc and minutes else None,
        "cpu_mean": float(known.mean()) / trace.step_us if len(known) else None,
    }


def _setting(base: Setting, number: int, change: Settings) -> Setting:
    """The recorded setting with the given changes."""
    given = {name: value for name, value in change.items() if value is not None or name in _CAN_BE_OFF}
    for name in _COUNTED:
        if given.get(name) is not None:
            given[name] = int(cast("float", given[name]))
    setting = replace(base, **given)  # type: ignore[arg-type]
    if "burst_us" not in given and setting.quota_us is not None:
        # The kernel allows no more burst than quota; lowering the limit is taken to keep as much burst as fits.
        setting = replace(setting, burst_us=min(setting.burst_us, int(setting.quota_us)))
    quota_us = setting.quota_us
    if quota_us is not None and setting.burst_us > quota_us:
        why = f"A burst of {setting.burst_us} µs is more than the quota of {quota_us:.0f} µs."
        raise InvalidSettingError(number, "burst_us", why)
    if quota_us is not None and quota_us < _LEAST_QUOTA_US:
        why = f"The quota would be {quota_us:.0f} µs, and the kernel accepts no less than {_LEAST_QUOTA_US} µs."
        raise InvalidSettingError(number, "cpu_limit", why)
    return setting


def _values(setting: Setting) -> Settings:
    names = ("cpu_limit", "period_us", "burst_us", "gomaxprocs", "gogc", "gomemlimit_bytes", "replicas")
    return {name: getattr(setting, name) for name in names}


def _tried(said: Prediction) -> Tried:
    return Tried(
        settings=_values(said.setting),
        figures=tuple(Figure(one.id, one.title, one.unit, interval=getattr(said, one.id)) for one in _FIGURES),
        cannot_tell=said.cannot_tell,
        notes=said.notes,
        timeline=None
        if said.timeline is None
        else _timeline(
            said.timeline.start_us, said.timeline.step_us, said.timeline.cpu_ratio, said.timeline.throttled_us,
            said.timeline.latency_max_us, said.timeline.gc,
        ),
    )  # fmt: skip


def _searched(prepared: Prepared, goal: Goal) -> tuple[Searched, ...]:
    if goal.figure not in get_args(Metric):
        raise InvalidSettingError(0, "search", f"No figure has the name {goal.figure[:100]!r}.")
    wanted = SearchGoal(cast("Metric", goal.figure), goal.at_most)
    found = {name: search(prepared, wanted) for name, search in _SEARCHES.items()}
    return tuple(
        Searched(name, one.value, one.reason, None if one.prediction is None else _tried(one.prediction))
        for name, one in found.items()
    )


def _recorded_timeline(trace: Trace) -> Timeline:
    latency = np.full(len(trace.usage_us), np.nan)
    if trace.sent_us is not None and trace.latency_us is not None and len(trace.sent_us):
        tick = (trace.sent_us - trace.start_us) // trace.step_us
        inside = (tick >= 0) & (tick < len(latency))
        peaks = np.full(len(latency), -np.inf)
        np.maximum.at(peaks, tick[inside], trace.latency_us[inside].astype(np.float64))
        latency = np.where(np.isfinite(peaks), peaks, np.nan)
    usage = trace.usage_us / trace.step_us
    return _timeline(trace.start_us, trace.step_us, usage, trace.throttled_us, latency, trace.gc)


def _timeline(
    start_us: int,
    step_us: int,
    cpu_ratio: FloatArray,
    throttled_us: FloatArray,
    latency_max_us: FloatArray,
    gc: tuple[GcCycle, ...],
) -> Timeline:
    courses = (
        Course("cpu_ratio", cpu_ratio),
        Course("throttled_us", throttled_us, "sum"),
        Course("latency_max_us", latency_max_us),
    )
    return Timeline(start_us, step_us, courses, tuple((cycle.start_us, cycle.end_us) for cycle in gc))


def _sum(values: FloatArray) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.sum()) if len(known) else None
