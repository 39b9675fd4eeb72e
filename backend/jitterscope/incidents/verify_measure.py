"""Measures a waiting verification: reads both sides, compares, and says what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import get_args

import numpy as np
from sqlalchemy.orm import Session

from jitterscope.diagnosis.finding import Interval
from jitterscope.diagnosis.snapshot import FloatArray
from jitterscope.diagnosis.verification.blocks import BLOCK_US, Blocks, blocks
from jitterscope.diagnosis.verification.load import comparable
from jitterscope.diagnosis.verification.measure import TITLES, Measure
from jitterscope.diagnosis.verification.verdict import Verdict, judge
from jitterscope.incidents import verify_read
from jitterscope.incidents.verification_models import VerificationRow
from jitterscope.incidents.verification_schemas import (
    BlockSeries,
    PredictedFigures,
    VerificationResult,
    VerifiedMeasure,
    VerifiedMetric,
)
from jitterscope.incidents.verifications import BEFORE
from jitterscope.incidents.views import time_of, us_of
from jitterscope.inventory import service as inventory
from jitterscope.settings import settings

# After so long without a comparison the fix is no longer what a difference would be due to.
GIVE_UP_US = 24 * 3600 * 1_000_000
# One that waits for long is looked at less often: at most a twentieth of its age goes by between two looks.
_PATIENCE = 20
_UNTESTED = "two figures, no test"


@dataclass(frozen=True, slots=True)
class Measured:
    """What a look came to. `gave_up`: no verdict will come. `errors`: |predicted − measured| ratios by metric."""

    verdict: Verdict
    waiting_for: str | None
    sentence: str | None
    result: VerificationResult
    measures: tuple[Measure, ...]
    gave_up: bool = False


def due(session: Session, waiting: VerificationRow) -> bool:
    """Whether there can be news since the last look."""
    if waiting.checked_at is None:
        return True
    now = datetime.now(UTC)
    return now - waiting.checked_at >= min((now - waiting.created_at) / _PATIENCE, timedelta(minutes=10))


def measure(session: Session, waiting: VerificationRow) -> Measured:
    """Compare what is there by now."""
    subject = inventory.resource(session, waiting.subject_id)
    clock_us = None if subject is None else inventory.node_clock_us(session, subject.node_id)
    applied_us = us_of(waiting.applied_at)
    if clock_us is None:
        gone = "Data: the resource, or the collector of its node, is gone."
        late = datetime.now(UTC) - waiting.created_at > timedelta(microseconds=GIVE_UP_US)
        return Measured("waiting", gone, None, VerificationResult(), (), gave_up=late)
    gave_up = clock_us - applied_us > GIVE_UP_US
    settled_us = applied_us + int(settings().verification_settle_s * 1e6)
    after_from_us = max(settled_us, clock_us - int(BEFORE.total_seconds() * 1e6))
    if clock_us - after_from_us < BLOCK_US:
        wanted = f"Data from {settings().verification_settle_s:g} s after the change on."
        return Measured("waiting", wanted, None, VerificationResult(), (), gave_up)
    before_window = us_of(waiting.before_from), us_of(waiting.before_to)
    before = verify_read.ticks(session, waiting.before_subject_id, *before_window)
    after = verify_read.ticks(session, waiting.subject_id, after_from_us, clock_us)
    if before is None or after is None:
        side = "before" if before is None else "after"
        return Measured(
            "waiting", f"Data from {side} the change: there are none.", None, VerificationResult(), (), gave_up
        )
    old, new = blocks(before), blocks(after)
    p99 = (
        verify_read.p99_ms(session, waiting.before_subject_id, *before_window),
        verify_read.p99_ms(session, waiting.subject_id, after_from_us, clock_us),
    )
    match = comparable(old, new)
    found = judge(match, _predicted(waiting), p99, settings().verification_least_s)
    notes = _notes(waiting, match.by, len(old) - len(match.before), len(new) - len(match.after))
    result = VerificationResult(
        after_from=time_of(after_from_us),
        after_to=time_of(clock_us),
        measures=[_shown(one, waiting) for one in found.measures],
        before=_series(old),
        after=_series(new),
        notes=notes,
        needed_s=found.needed_s,
        collected_s=found.collected_s,
    )
    return Measured(found.verdict, found.waiting_for, found.sentence, result, found.measures, gave_up)


def _predicted(waiting: VerificationRow) -> dict[str, Interval]:
    """For what was applied; where that could not be replayed, what the fix promised."""
    figures = PredictedFigures.model_validate(waiting.predicted)
    if figures == PredictedFigures():
        figures = PredictedFigures.model_validate(waiting.promised)
    return {name: one for name in get_args(VerifiedMetric) if (one := getattr(figures, name)) is not None}


def _shown(one: Measure, waiting: VerificationRow) -> VerifiedMeasure:
    title, unit = TITLES[one.metric]
    return VerifiedMeasure(
        metric=one.metric,
        title=title,
        unit=unit,
        before=one.before,
        after=one.after,
        ratio=one.ratio,
        p_value=one.p_value,
        test=one.test or _UNTESTED,
        decides=one.decides,
        predicted=one.predicted,
        promised=getattr(PredictedFigures.model_validate(waiting.promised), one.metric),
        inside=one.inside,
    )


def _series(side: Blocks) -> BlockSeries:
    with np.errstate(invalid="ignore", divide="ignore"):
        return BlockSeries(
            t_us=side.t_us.tolist(),
            step_us=side.step_us,
            throttled_ms=_column(side.throttled_us / 1000),
            throttled_ratio=_column(side.throttled_periods / side.periods),
            slow_ratio=_column(side.slow / side.queries),
            queries_per_s=_column(side.queries / side.seconds),
            cpu_mean=_column(side.usage_us / side.seconds / 1e6),
            gc_cycles=_column(side.gc_cycles),
        )


def _column(values: FloatArray) -> list[float | None]:
    return [round(value, 6) if np.isfinite(value) else None for value in values.tolist()]


def _notes(waiting: VerificationRow, by: str, dropped_before: int, dropped_after: int) -> list[str]:
    notes = []
    if by == "cpu":
        notes.append("No queries are counted here: load is compared by CPU use, which says less.")
    if dropped_before or dropped_after:
        notes.append(
            f"Left out for another load: {dropped_before} of the blocks before and {dropped_after} of those after "
            "the change."
        )
    if waiting.changes and all(step["name"] == "restart" for step in waiting.changes):
        notes.append("Nothing but a restart is known to have changed: a fault that grows with time comes back.")
    return notes
