"""Orders fixes by the harm that each would remove, less its cost and risk, and explains the order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jitterscope.diagnosis.areas.cpu.whatif.demand import cpus_of
from jitterscope.diagnosis.areas.cpu.whatif.predict import Prepared, predict
from jitterscope.diagnosis.areas.cpu.whatif.types import Prediction, Ranked, Setting
from jitterscope.diagnosis.core.finding import Interval

# Subtracted from the share of harm that a fix removes: it must not outweigh a real difference, only settle near ties.
_CPU_COST = 0.05  # twice the limit
_MEMORY_RISK = 0.06  # GOGC off: more memory, and a spiral when the heap grows
_SLOWER_RISK = 0.03  # fewer CPUs at once for queries too
_NEIGHBOUR_RISK = 0.04  # burst: contention on the node; few tools can set it
_ENDS, _NOTHING = 0.05, 0.15


def rank(prepared: Prepared, candidates: Mapping[str, Setting]) -> list[Ranked]:
    """Fixes by id, the best first. Those with an unknown effect come last, in the given order."""
    now = predict(prepared, prepared.trace.setting)
    found = [_ranked(prepared, fix_id, setting, now) for fix_id, setting in candidates.items()]
    return sorted(found, key=lambda one: -one.score)


def _ranked(prepared: Prepared, fix_id: str, setting: Setting, now: Prediction) -> Ranked:
    said = predict(prepared, setting)
    left = _left(said, now)
    caveats, cost = _costs(prepared.trace.setting, setting)
    if left is None:
        return Ranked(fix_id, said, -1.0, f"Cannot tell: {said.cannot_tell}", caveats)
    return Ranked(fix_id, said, 1.0 - left - cost, sentence(prepared, setting, said, now), caveats)


def _left(said: Prediction, now: Prediction) -> float | None:
    """Share of the harm that remains: of slow queries and of throttled time, whichever is known."""
    shares = []
    for after, before in (
        (said.slow_ratio, now.slow_ratio),
        (said.throttled_ms_per_min, now.throttled_ms_per_min),
    ):
        if after is not None and before is not None and before.expected > 0:
            # The median counts most; the bad end breaks ties.
            shares.append((0.8 * after.expected + 0.2 * min(after.high, 2 * before.expected)) / before.expected)
    if shares:
        return float(np.mean(shares))
    return None if said.throttled_ms_per_min is None else 0.0


def _costs(was: Setting, setting: Setting) -> tuple[tuple[str, ...], float]:
    caveats, cost = [], 0.0
    if setting.cpu_limit != was.cpu_limit and was.cpu_limit is not None:
        if setting.cpu_limit is None:
            caveats.append("Without a limit it can take CPU from other pods on the node.")
            cost += 2 * _CPU_COST
        elif setting.cpu_limit > was.cpu_limit:
            caveats.append(f"Reserves up to {setting.cpu_limit - was.cpu_limit:g} more CPUs on the node.")
            cost += _CPU_COST * min(2.0, setting.cpu_limit / was.cpu_limit - 1)
    if setting.burst_us > was.burst_us:
        caveats.append("Needs Linux 5.14 or later and a tool that sets it. The kubelet does not.")
        cost += _NEIGHBOUR_RISK
    if (setting.gogc, setting.gomemlimit_bytes) != (was.gogc, was.gomemlimit_bytes):
        caveats.append("Uses more memory. With a heap that grows to GOMEMLIMIT it collects all the time.")
        cost += _MEMORY_RISK
    if setting.gomaxprocs is not None and was.gomaxprocs is not None and setting.gomaxprocs < was.gomaxprocs:
        caveats.append("Queries also have fewer concurrent CPUs.")
        cost += _SLOWER_RISK
    return tuple(caveats), cost


def sentence(prepared: Prepared, setting: Setting, said: Prediction, now: Prediction) -> str:
    """A short assessment of a fix, for users."""
    stops = said.throttled_ms_per_min
    before = now.throttled_ms_per_min
    if stops is None or before is None:
        return f"Cannot tell: {said.cannot_tell}"
    if before.expected <= 0:
        return (
            "Nothing is throttled now."
            if stops.expected <= 0
            else f"Throttles {_minute(stops)} although nothing is throttled now."
        )
    left = stops.expected / before.expected
    reason = " ".join(said.notes) or _why(prepared, setting)
    if left <= _ENDS:
        verdict = (
            "Ends the throttling" if stops.high / before.expected <= 2 * _NOTHING else "Most likely ends the throttling"
        )
    elif left >= 1 - _NOTHING:
        verdict = "Does not help" if left <= 1 + _NOTHING else "Makes it worse"
    else:
        verdict = f"Removes {100 * (1 - left):.0f} % of the throttled time"
    slow = said.slow_ratio
    shares = ""
    if slow is not None and left > _ENDS:
        shares = f", {100 * slow.expected:.2f} % of {prepared.trace.noun} stay slow"
    return f"{verdict} ({_minute(stops)} instead of {_minute(before)}{shares}). {reason}".rstrip()


def _why(prepared: Prepared, setting: Setting) -> str:
    cpus, limit = cpus_of(prepared.trace, setting), setting.cpu_limit
    if limit is None:
        return "Without a limit nothing is throttled."
    if cpus <= limit + 1e-9:
        return f"At most {cpus:g} CPUs can be used concurrently, and the limit allows {limit:g}."
    return ""


def _minute(value: Interval) -> str:
    return f"{value.expected:,.0f} ms/min"
