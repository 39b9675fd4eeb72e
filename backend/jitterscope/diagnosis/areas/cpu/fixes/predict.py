"""What a fix would have made of the snapshot: settings by replay (whatif), all else by what stalls go away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jitterscope.diagnosis.areas.cpu.whatif import predict as whatif
from jitterscope.diagnosis.areas.cpu.whatif.trace import from_snapshot
from jitterscope.diagnosis.areas.cpu.whatif.types import Prediction, Setting
from jitterscope.diagnosis.core.finding import FixSetting, Interval
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import Snapshot


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
