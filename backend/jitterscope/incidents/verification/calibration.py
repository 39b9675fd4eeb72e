"""The product's own record: how predictions turned out, by kind of fix, and how many slow answers have a cause."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from sqlalchemy.orm import Session

from jitterscope.diagnosis.verification.plan import measure_of
from jitterscope.incidents.api.verification_schemas import (
    Calibration,
    FixCalibration,
    MetricCalibration,
    PredictionOutcome,
)
from jitterscope.incidents.verification import explained, store
from jitterscope.incidents.verification.models import OutcomeRow

LEVEL = 0.9
# A change that no fix of the incident proposes is still predicted and measured.
OTHER = "other"
# Older outcomes come from older models; this also limits what one request reads.
_CONSIDERED = 5_000


def read(session: Session, recent: int) -> Calibration:
    """The record over the organization's newest outcomes; `recent` of them are listed."""
    rows = store.outcomes(session, _CONSIDERED)
    counts: dict[str, dict[str, int]] = {}
    for fix_id, state, count in store.verdicts(session, without_fix=OTHER):
        counts.setdefault(fix_id, {})[state] = count
    for row in rows:
        counts.setdefault(row.fix_id, {})
    return Calibration(
        level=LEVEL,
        outcomes=len(rows),
        inside_ratio=_inside(rows),
        median_error_ratio=_error(rows),
        explained=explained.read(session),
        fixes=[_of_fix(name, counts[name], [row for row in rows if row.fix_id == name]) for name in sorted(counts)],
        recent=[_outcome(row) for row in rows[:recent]],
    )


def _of_fix(fix_id: str, verdicts: dict[str, int], rows: Sequence[OutcomeRow]) -> FixCalibration:
    metrics = []
    for metric in sorted({row.metric for row in rows}):
        own = [row for row in rows if row.metric == metric]
        metrics.append(
            MetricCalibration(
                metric=metric,
                title=metric if (found := measure_of(metric)) is None else found.title,
                outcomes=len(own),
                inside_ratio=_inside(own),
                median_error_ratio=_error(own),
            )
        )
    return FixCalibration(
        fix_id=fix_id,
        verifications=sum(verdicts.values()),
        verified=verdicts.get("verified", 0),
        did_not_help=verdicts.get("did_not_help", 0),
        made_worse=verdicts.get("made_worse", 0),
        outcomes=len(rows),
        inside_ratio=_inside(rows),
        median_error_ratio=_error(rows),
        metrics=metrics,
    )


def _outcome(row: OutcomeRow) -> PredictionOutcome:
    """An outcome with this version's title of the measure; with its id and no unit if the measure no longer exists."""
    measure = measure_of(row.metric)
    names = PredictionOutcome.model_fields.keys() - {"title", "unit"}
    return PredictionOutcome.model_validate(
        {name: getattr(row, name) for name in names}
        | {
            "title": row.metric if measure is None else measure.title,
            "unit": "1" if measure is None else measure.unit,
        }
    )


def _inside(rows: Sequence[OutcomeRow]) -> float | None:
    return sum(row.inside for row in rows) / len(rows) if rows else None


def _error(rows: Sequence[OutcomeRow]) -> float | None:
    return median(row.error_ratio for row in rows) if rows else None
