"""What each fix of an incident was predicted to do, kept as it was while the incident was open."""

from __future__ import annotations

from datetime import datetime

from jitterscope.diagnosis.finding import Fix, Found
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.verification_schemas import FixPrediction, PredictedFigures

# From then on predictions would be made from data that the fix has changed.
_FIXED = ("fix_applied", "did_not_help", "made_worse", "verified")


def figures_of(fix: Fix) -> PredictedFigures:
    """What the diagnosis predicted for a fix; empty where it could not tell."""
    return PredictedFigures(throttled_ratio=fix.predicted_throttled_ratio, slow_ratio=fix.predicted_slow_ratio)


def keep(row: IncidentRow, found: Found, at: datetime) -> None:
    """Note the predictions of a finding that is shown from now on; those of fixes it no longer has stay."""
    if row.state in _FIXED:
        return
    fresh = {
        fix.id: {"at": at.isoformat(), "figures": figures.model_dump(mode="json")}
        for fix in found.fixes
        if (figures := figures_of(fix)) != PredictedFigures()
    }
    if fresh:
        row.predictions = {**(row.predictions or {}), **fresh}


def shown(row: IncidentRow) -> list[FixPrediction]:
    """As the API shows them, in the order of the fixes."""
    order = {fix["id"]: number for number, fix in enumerate(row.finding.get("fixes", []))}
    kept = sorted(row.predictions.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
    return [FixPrediction.model_validate({"fix_id": fix_id, **content}) for fix_id, content in kept]


def promised(row: IncidentRow, fix_id: str | None) -> PredictedFigures:
    """What a fix promised; empty where nothing did."""
    content = row.predictions.get(fix_id) if fix_id is not None else None
    return PredictedFigures() if content is None else PredictedFigures.model_validate(content["figures"])
