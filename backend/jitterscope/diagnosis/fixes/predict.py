"""What a fix would have made of the snapshot: settings by replay (whatif), all else by what stalls go away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from jitterscope.diagnosis.finding import FixSetting, Impact, Interval
from jitterscope.diagnosis.snapshot import Snapshot
from jitterscope.diagnosis.stats import rule_of_three
from jitterscope.diagnosis.whatif import predict as whatif
from jitterscope.diagnosis.whatif.trace import from_snapshot
from jitterscope.diagnosis.whatif.types import Prediction, Setting


@dataclass(frozen=True, slots=True)
class Replayed:
    """Of a replay under a changed setting; None where the trace does not tell.

    `remains`: throttled periods then over now, both replayed.
    """

    slow_ratio: Interval | None = None
    throttled_ratio: Interval | None = None
    remains: float | None = None


# Every fix asks about the same snapshot: the last one is kept (one entry, replaced atomically).
_latest: tuple[Snapshot, tuple[whatif.Prepared, Prediction] | None] | None = None


def replayed(snapshot: Snapshot, fix: FixSetting) -> Replayed:
    """The snapshot's window with what `fix` sets."""
    global _latest
    held = _latest
    if held is None or held[0] is not snapshot:
        held = (snapshot, _prepared(snapshot))
        _latest = held
    if held[1] is None:
        return Replayed()
    prepared, now = held[1]
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


def _prepared(snapshot: Snapshot) -> tuple[whatif.Prepared, Prediction] | None:
    trace = from_snapshot(snapshot)
    if isinstance(trace, str):
        return None
    prepared = whatif.prepare(trace)
    return prepared, whatif.predict(prepared, trace.setting)


def scaled(impact: Impact, slow_inside: int, low: float, expected: float, high: float) -> Interval | None:
    """Slow ratio when `low`..`high` of the stalls' slow answers remain; None where latency is unknown.

    Answers that were slow outside the stalls stay slow. The upper end adds what chance could have hidden.
    """
    if not impact.queries or impact.slow_queries is None:
        return None
    rest = max(0, impact.slow_queries - slow_inside)
    n = impact.queries
    return Interval(
        low=min(1.0, (rest + low * slow_inside) / n),
        expected=min(1.0, (rest + expected * slow_inside) / n),
        high=min(1.0, max(rule_of_three(rest, n), (rest + high * slow_inside) / n)),
    )


def throttled(impact: Impact, low: float, expected: float, high: float) -> Interval | None:
    """Throttled ratio when so much of it remains."""
    now = impact.throttled_ratio
    if now is None:
        return None
    return Interval(low=min(1.0, low * now), expected=min(1.0, expected * now), high=min(1.0, high * now))
