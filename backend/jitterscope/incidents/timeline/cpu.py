"""The picture's CPU: usage in each tick, its limit, and when the cgroup was throttled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import FloatArray
from jitterscope.incidents.timeline.downsample import fold_max, fold_sum
from jitterscope.incidents.timeline.lanes import host_cpu
from jitterscope.incidents.timeline.throttled import Counted, Stalls, per_tick, stalls
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import FactRow, SubjectTree
from jitterscope.series import service as series
from jitterscope.series.types import TICK_US, ZOOM_STEP_US

# 10 ms ticks are shown for windows up to this long; beyond that they are neither visible nor sent.
ZOOM_WINDOW_US = 30_000_000
# They locate stalls in windows up to this long; beyond that a stall is less than a pixel.
PLACED_WINDOW_US = 600_000_000
MAX_STALLS = 2_000
_METRICS = ("cpu_usage_us", "cpu_throttled_us", "cpu_throttled_periods")
_LIMIT_FACTS = ("cpu.quota_us", "cpu.period_us")
_DEFAULT_PERIOD_US = 100_000

Columns = dict[str, Any]


def build(session: Session, tree: SubjectTree, from_us: int, to_us: int, points: int) -> dict[str, Any]:
    """`cpu`, `coarse`, `limits` and `throttled` of schemas.Timeline."""
    subject, node = tree.subject.id, tree.node.id
    if subject == node:
        ticks = _read(session, subject, from_us, to_us, TICK_US)
        if (host := host_cpu(session, subject, from_us, to_us)) is not None:
            ticks = Counted(ticks.start_us, TICK_US, per_tick(host), ticks.throttled_us, ticks.periods)
        return {"cpu": _columns(ticks, to_us, points), "coarse": None, "limits": [], "throttled": []}
    facts = inventory.facts(session, [subject, node], from_us, to_us)
    period_us = _period_us(facts[subject])
    # A stall is counted in the tick after it: the last one of the window, after the window.
    later_us = to_us + period_us + 2 * TICK_US
    coarse = _read(session, subject, from_us, later_us, TICK_US)
    fine = None
    if to_us - from_us <= PLACED_WINDOW_US:
        fine = _read(session, subject, coarse.start_us, later_us, ZOOM_STEP_US)
    cpus = int(next((number(fact.value) or 0 for fact in facts[node] if fact.name == "node.cpus"), 0))
    found = stalls(coarse, fine, period_us, cpus).within(from_us, to_us)
    zoomed = fine if fine is not None and _shown(fine, from_us, to_us) else None
    return {
        "cpu": _columns(coarse if zoomed is None else zoomed, to_us, points),
        "coarse": None if zoomed is None else _columns(coarse, to_us, points),
        "limits": limits(facts[subject], from_us),
        "throttled": spans(found, to_us - from_us),
    }


def spans(found: Stalls, window_us: int) -> list[Columns]:
    """Contents of schemas.TimelineSpan. If there are too many, those too close to distinguish are merged."""
    apart = found.merged(0)
    shown = apart if len(apart.from_us) <= MAX_STALLS else apart.merged(window_us / MAX_STALLS)
    return [
        {
            "from_us": int(shown.from_us[i]),
            "to_us": int(shown.to_us[i]),
            "label": "throttled",
            "attributes": {
                "stopped_ms": f"{shown.stopped_us[i] / 1000:.1f}",
                "throttled_ms": f"{shown.counted_us[i] / 1000:.1f}",
                "periods": str(shown.periods[i]),
            },
        }
        for i in range(len(shown.from_us))
    ]


def limits(facts: Sequence[FactRow], from_us: int) -> list[Columns]:
    """Steps of the CPU limit; the first one applies from the window's start, unless nothing was known then."""
    current: dict[str, float] = {}
    steps: list[Columns] = []
    for fact in facts:
        if fact.name not in _LIMIT_FACTS:
            continue
        try:
            current[fact.name] = float(fact.value)
        except ValueError:
            continue
        quota, period = current.get("cpu.quota_us"), current.get("cpu.period_us", float(_DEFAULT_PERIOD_US))
        if quota is None or period <= 0:
            continue
        limit = None if quota <= 0 else quota / period
        at_us = max(fact.since_us, from_us)
        if steps and steps[-1]["from_us"] == at_us:
            steps.pop()
        if not steps or steps[-1]["cpu_limit"] != limit:
            steps.append({"from_us": at_us, "cpu_limit": limit})
    return steps


def _period_us(facts: Sequence[FactRow]) -> int:
    """The longest period in the window, so that no stall is cut."""
    known = [number(fact.value) or 0 for fact in facts if fact.name == "cpu.period_us"]
    return int(max(known, default=0)) or _DEFAULT_PERIOD_US


def _read(session: Session, subject_id: int, from_us: int, to_us: int, step_us: int) -> Counted:
    found: Mapping[tuple[int, str], FloatArray] = series.read_series(
        session, [subject_id], _METRICS, from_us, to_us, step_us
    )
    start_us = from_us - from_us % step_us
    ticks = -(-(to_us - start_us) // step_us)
    usage, throttled, periods = (found.get((subject_id, name), np.full(ticks, np.nan)) for name in _METRICS)
    return Counted(start_us, step_us, per_tick(usage), throttled, periods)


def _shown(fine: Counted, from_us: int, to_us: int) -> bool:
    ticks = -(-(to_us - fine.start_us) // fine.step_us)
    return to_us - from_us <= ZOOM_WINDOW_US and bool(np.isfinite(fine.usage_us[:ticks]).any())


def _columns(ticks: Counted, to_us: int, points: int) -> Columns:
    """The content of schemas.TimelineCpu."""
    step_us = ticks.step_us
    shown = -(-(to_us - ticks.start_us) // step_us)
    usage = ticks.usage_us[:shown]
    fold = max(1, -(-shown // points))
    mean = None
    if fold > 1:
        mean = fold_sum(usage, fold) / fold_sum(np.where(np.isnan(usage), np.nan, 1.0), fold) / step_us
    return {
        "t_us": ticks.start_us + np.arange(-(-shown // fold), dtype=np.int64) * (step_us * fold),
        "step_us": step_us * fold,
        "tick_us": step_us,
        "cpu_ratio": fold_max(usage, fold) / step_us,
        "cpu_mean_ratio": mean,
        "throttled_us": fold_sum(ticks.throttled_us[:shown], fold),
        "throttled_periods": fold_sum(ticks.periods[:shown], fold),
    }
