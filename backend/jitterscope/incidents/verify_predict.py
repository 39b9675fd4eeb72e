"""Predicts what the change that was made will do, from the data before it: what the outcome is held against."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.diagnosis.whatif.predict import predict, prepare
from jitterscope.diagnosis.whatif.trace import from_snapshot
from jitterscope.diagnosis.whatif.types import Prediction
from jitterscope.incidents import verify_read
from jitterscope.incidents.verification_schemas import PredictedFigures

# As long as a what-if takes by default; more would tell little more.
_MOST_US = 600_000_000


def predicted(
    session: Session, before_subject_id: int, before: tuple[int, int], after_subject_id: int, after: tuple[int, int]
) -> PredictedFigures:
    """For the setting that is in force in `after`, from the recording of `before` ([from_us, to_us) each).

    Empty where one of them cannot be read, or where nothing that can be replayed has changed.
    """
    from_us, to_us = before
    old = verify_read.snapshot(session, before_subject_id, max(from_us, to_us - _MOST_US), to_us, to_us)
    new = verify_read.snapshot(session, after_subject_id, *after, after[1])
    if old is None or new is None:
        return PredictedFigures()
    trace, applied = from_snapshot(old), from_snapshot(new)
    if isinstance(trace, str) or isinstance(applied, str) or applied.setting == trace.setting:
        return PredictedFigures()
    return figures(predict(prepare(trace), applied.setting))


def figures(said: Prediction) -> PredictedFigures:
    """What can be measured afterwards."""
    return PredictedFigures(
        throttled_ms_per_min=said.throttled_ms_per_min,
        throttled_ratio=said.throttled_ratio,
        slow_ratio=said.slow_ratio,
        p99_ms=said.p99_ms,
        gc_cycles_per_min=said.gc_cycles_per_min,
    )
