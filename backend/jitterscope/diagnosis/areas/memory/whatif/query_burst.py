"""What-if for memory: when a burst of queries reaches the limit with a cap on concurrent ones, or another limit.

Memory is base + bytes per query x queries that wait. The base is what the program needs without the burst; both factors
are measured in the rise. The growth after a cap is reached is garbage: a Go heap at GOGC=100 doubles between two
collections, so memory is between one and two times what the queries hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.core.finding import Interval, predictions

# Share of the limit to keep free: what the program needs for anything else.
MARGIN = 0.2
Outcome = Literal["killed", "may_be_killed", "survives"]


@dataclass(frozen=True, slots=True)
class MemoryLoad:
    """A measured burst: `base_bytes` without it, `per_query_bytes` (low, expected, high) for each that waits.

    `joining_per_s` more wait each second until `ceiling` do (inf: unbounded); `garbage` is the maximum of memory
    relative to what is in use, 1 for a program without a garbage collector. `limit_bytes` is the current limit.
    """

    base_bytes: float
    per_query_bytes: tuple[float, float, float]
    joining_per_s: float
    ceiling: float
    garbage: float
    limit_bytes: float


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """From the beginning of the burst: `seconds_to_oom` is None if the limit is never reached, or if that is unknown.

    `peak_bytes` of memory without page cache, ignoring the limit; None if it is unbounded.
    """

    cap: int | None
    limit_bytes: float
    waiting: float
    seconds_to_oom: Interval | None
    peak_bytes: Interval | None
    outcome: Outcome


def forecast(
    load: MemoryLoad, cap: int | None = None, limit_bytes: float | None = None, replicas: int = 1
) -> MemoryForecast:
    """The same burst with at most `cap` concurrent queries (None: as recorded), another limit, and `replicas`."""
    limit = load.limit_bytes if limit_bytes is None else limit_bytes
    joining = load.joining_per_s / max(1, replicas)
    waiting = min(load.ceiling / max(1, replicas), math.inf if cap is None else float(cap))
    peak = _peak(load, waiting)
    outcome: Outcome = "killed"
    if math.isinf(limit) or (peak is not None and peak.high < limit):
        outcome = "survives"
    elif peak is not None and peak.low < limit:
        outcome = "may_be_killed"
    return MemoryForecast(
        cap=cap,
        limit_bytes=limit,
        waiting=waiting,
        seconds_to_oom=None if outcome == "survives" else _seconds(load, joining, limit),
        peak_bytes=peak,
        outcome=outcome,
    )


def figures(said: MemoryForecast) -> dict[str, Interval]:
    """A forecast's values for the area's measures, by id: nothing if a kill is not ruled out."""
    if said.outcome != "survives":
        return {}
    none = Interval(low=0.0, high=0.0, expected=0.0)
    room = said.peak_bytes is not None and said.peak_bytes.high <= (1 - MARGIN) * said.limit_bytes
    return predictions(oom_kills_per_h=none, near_limit_ratio=none if room else None)


def _peak(load: MemoryLoad, waiting: float) -> Interval | None:
    """Between the memory of that many queries, and the same with the most garbage."""
    if math.isinf(waiting):
        return None
    low, expected, high = load.per_query_bytes
    return Interval(
        low=load.base_bytes + low * waiting,
        expected=load.base_bytes + expected * (1 + load.garbage) / 2 * waiting,
        high=load.base_bytes + high * load.garbage * waiting,
    )


def _seconds(load: MemoryLoad, joining: float, limit: float) -> Interval | None:
    """None if the number of waiting queries does not grow: then the time is unknown."""
    room = max(0.0, limit - load.base_bytes)
    low, expected, high = load.per_query_bytes
    if joining <= 0:
        return None
    return Interval(low=room / (high * joining), expected=room / (expected * joining), high=room / (low * joining))


def largest_cap(load: MemoryLoad, blocks: int = 1, limit_bytes: float | None = None) -> int:
    """The most concurrent queries for each of `blocks` forward blocks that survive with a margin; 0: none do."""
    limit = load.limit_bytes if limit_bytes is None else limit_bytes
    room = (1 - MARGIN) * limit - load.base_bytes
    each = load.per_query_bytes[1] * load.garbage
    return round_down(max(0.0, room / each) / max(1, blocks))


def needed_limit(load: MemoryLoad) -> float | None:
    """Bytes that hold the maximum number of waiting queries, with a margin; None if they are unbounded."""
    if not math.isfinite(load.ceiling):
        return None
    return (load.base_bytes + load.per_query_bytes[1] * load.garbage * load.ceiling) / (1 - MARGIN)


def needed_replicas(load: MemoryLoad) -> int | None:
    """Replicas with this limit that can absorb the burst; None if it is unbounded, or no number is enough."""
    room = (1 - MARGIN) * load.limit_bytes - load.base_bytes
    if not math.isfinite(load.ceiling) or room <= 0:
        return None
    return max(2, math.ceil(load.per_query_bytes[1] * load.garbage * load.ceiling / room))


def round_down(value: float) -> int:
    """To two digits, in at least 100 steps if it is that large: a memorable number."""
    if value < 10:
        return int(value)
    step = 10 ** (int(math.log10(value)) - 1)
    return int(value // step * step)
