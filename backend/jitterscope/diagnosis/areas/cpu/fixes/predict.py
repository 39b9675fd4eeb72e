"""What a fix would have made of the snapshot: settings by replay (whatif), all else by what stalls go away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jitterscope.diagnosis.areas.cpu.whatif import predict as whatif
from jitterscope.diagnosis.areas.cpu.whatif.search import MOST_REPLICAS
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.areas.cpu.whatif.types import Prediction, Setting
from jitterscope.diagnosis.core.finding import FixSetting, Interval
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import Snapshot

# Less of the throttling than this is its end.
ENDS = 0.02


@dataclass(frozen=True, slots=True)
class Replayed:
    """Of a replay under a changed setting; None where the trace does not tell.

    `remains`: throttled periods then over now, both replayed.
    """

    slow_ratio: Interval | None = None
    throttled_ratio: Interval | None = None
    remains: float | None = None


@reading
def replayed(snapshot: Snapshot, fix: FixSetting) -> Replayed:
    """The snapshot's window with what `fix` sets."""
    ready = _prepared(snapshot)
    if ready is None:
        return Replayed()
    prepared, now = ready
    said = whatif.predict(prepared, _with(prepared.trace.setting, fix))
    before, after = now.throttled_ratio, said.throttled_ratio
    known = before is not None and after is not None and before.expected > 0
    remains = after.expected / before.expected if known and before is not None and after is not None else None
    return Replayed(said.slow_ratio, said.throttled_ratio, remains)


def fewest_replicas(snapshot: Snapshot) -> int | None:
    """How many replicas for each one end the throttling; None if MOST_REPLICAS do not, or if that cannot be told."""
    low, high = 1, MOST_REPLICAS
    if not _ends(snapshot, high):
        return None
    # Bisection: more replicas never throttle more.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _ends(snapshot, middle) else (middle, high)
    return high


def _ends(snapshot: Snapshot, count: int) -> bool:
    remains = replayed(snapshot, FixSetting(replicas=float(count))).remains
    return remains is not None and remains < ENDS


def _with(was: Setting, fix: FixSetting) -> Setting:
    given: dict[str, Any] = {name: value for name, value in fix.model_dump().items() if value is not None}
    off: dict[str, Any] = {name: None for name, value in given.items() if value == "off"}
    made = replace(was, **{**given, **off})
    # The kernel allows no burst above the quota.
    return replace(made, burst_us=min(made.burst_us, int(made.quota_us or 0)))


@reading
def _prepared(snapshot: Snapshot) -> tuple[whatif.Prepared, Prediction] | None:
    trace = from_snapshot(snapshot)
    if isinstance(trace, str):
        return None
    prepared = whatif.prepare(trace)
    return prepared, whatif.predict(prepared, trace.setting)
