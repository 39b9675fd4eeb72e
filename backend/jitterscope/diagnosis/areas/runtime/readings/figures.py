"""Measures of pauses before and after a fix."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.areas.runtime.readings import pauses
from jitterscope.diagnosis.core.answers import slow_answers
from jitterscope.diagnosis.core.area import Amounts
from jitterscope.diagnosis.core.lanes import exposure
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

_MINUTE_US = 60e6


def pause_time(snapshot: Snapshot) -> Amounts | None:
    """ms that collections stopped the program, per minute in which that was recorded."""
    found = pauses.read(snapshot)
    if found is None:
        return None
    stopped = found.process.stopped_us
    return Amounts(stopped / 1000, exposure(snapshot, stopped, _MINUTE_US), _begun(snapshot, found))


def long_pauses(snapshot: Snapshot) -> Amounts | None:
    found = pauses.read(snapshot)
    if found is None:
        return None
    begun = _begun(snapshot, found)
    return Amounts(begun, exposure(snapshot, begun, _MINUTE_US), begun)


def slow(snapshot: Snapshot) -> Amounts | None:
    """Slow answers; if there are few, the events counted are long pauses."""
    amounts, found = slow_answers(snapshot), pauses.read(snapshot)
    return (
        amounts if amounts is None or found is None else Amounts(amounts.part, amounts.whole, _begun(snapshot, found))
    )


def _begun(snapshot: Snapshot, found: pauses.Pauses) -> FloatArray:
    """Long pauses that began in each tick; NaN where pauses were not recorded."""
    ticks = (found.long.start_us - snapshot.start_us) // snapshot.step_us
    inside = ticks[(ticks >= 0) & (ticks < snapshot.ticks)]
    counted = np.bincount(inside, minlength=snapshot.ticks).astype(np.float64)
    return np.where(np.isfinite(found.process.stopped_us), counted, np.nan)
