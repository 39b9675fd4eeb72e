"""What-if for memory: when a burst of queries would reach the limit under a cap of concurrent ones, or another limit.

Memory is base + bytes per query x queries that wait. The base is what the program needs without the burst, both
factors are measured in the rise. What comes on top once a cap is reached is garbage: a Go heap at GOGC=100 doubles
between two collections, so memory lies between once and twice what the queries hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from jitterscope.diagnosis.core.finding import Interval, predictions

# Of the limit, not to be planned with: what the program needs for anything else.
MARGIN = 0.2
Outcome = Literal["killed", "may_be_killed", "survives"]


@dataclass(frozen=True, slots=True)
class MemoryLoad:
    """A burst as it was measured: `base_bytes` without it, `per_query_bytes` (low, expected, high) for each that waits.

    `joining_per_s` more wait each second until `ceiling` do (inf: without end); `garbage` is the most that memory can
    be of what is in use, 1 for a program without a garbage collector. `limit_bytes` is the limit in force.
    """

    base_bytes: float
    per_query_bytes: tuple[float, float, float]
    joining_per_s: float
    ceiling: float
    garbage: float
    limit_bytes: float


@dataclass(frozen=True, slots=True)
class MemoryForecast:
    """From the beginning of the burst on: `seconds_to_oom` is None where the limit is never reached, or not known.

    `peak_bytes` of memory without page cache, without regard to the limit; None where nothing bounds it.
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
    """The same burst with at most `cap` queries at once (None: as it was), another limit, and over so many replicas."""
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
    """What a forecast says of the area's measures, by id: nothing where a kill is not excluded."""
    if said.outcome != "survives":
        return {}
    none = Interval(low=0.0, high=0.0, expected=0.0)
    room = said.peak_bytes is not None and said.peak_bytes.high <= (1 - MARGIN) * said.limit_bytes
    return predictions(oom_kills_per_h=none, near_limit_ratio=none if room else None)


def _peak(load: MemoryLoad, waiting: float) -> Interval | None:
    """Between what as many queries hold, and that with the most garbage beside it."""
    if math.isinf(waiting):
        return None
    low, expected, high = load.per_query_bytes
    return Interval(
        low=load.base_bytes + low * waiting,
        expected=load.base_bytes + expected * (1 + load.garbage) / 2 * waiting,
        high=load.base_bytes + high * load.garbage * waiting,
    )


def _seconds(load: MemoryLoad, joining: float, limit: float) -> Interval | None:
    """None where no more queries come to wait: then nobody can say when."""
    room = max(0.0, limit - load.base_bytes)
    low, expected, high = load.per_query_bytes
    if joining <= 0:
        return None
    return Interval(low=room / (high * joining), expected=room / (expected * joining), high=room / (low * joining))


def largest_cap(load: MemoryLoad, blocks: int = 1, limit_bytes: float | None = None) -> int:
    """Most concurrent queries for each of `blocks` forward blocks that survive with a margin; 0: none do."""
    limit = load.limit_bytes if limit_bytes is None else limit_bytes
    room = (1 - MARGIN) * limit - load.base_bytes
    each = load.per_query_bytes[1] * load.garbage
    return round_down(max(0.0, room / each) / max(1, blocks))


def needed_limit(load: MemoryLoad) -> float | None:
    """Bytes that hold as many queries as can ever wait, with a margin; None where nothing bounds them."""
    if not math.isfinite(load.ceiling):
        return None
    return (load.base_bytes + load.per_query_bytes[1] * load.garbage * load.ceiling) / (1 - MARGIN)


def needed_replicas(load: MemoryLoad) -> int | None:
    """Replicas of this limit over which the burst fits; None where nothing bounds it, or none would do."""
    room = (1 - MARGIN) * load.limit_bytes - load.base_bytes
    if not math.isfinite(load.ceiling) or room <= 0:
        return None
    return max(2, math.ceil(load.per_query_bytes[1] * load.garbage * load.ceiling / room))


def round_down(value: float) -> int:
    """To two digits, 100 steps at least where it is that large: a number that people can remember."""
    if value < 10:
        return int(value)
    step = 10 ** (int(math.log10(value)) - 1)
    return int(value // step * step)
