"""Fixes that an incident proposed, with each one's predicted effect, preserved from while the incident was open."""

from __future__ import annotations

from datetime import datetime

from jitterscope.diagnosis.core.finding import Found, Interval
from jitterscope.incidents.api.verification_schemas import FixPrediction
from jitterscope.incidents.models import IncidentRow

# From these states on, predictions would use data that the fix has changed.
_FIXED = ("fix_applied", "did_not_help", "made_worse", "verified")


def keep(row: IncidentRow, found: Found, at: datetime) -> None:
    """Record the fixes of a finding that is shown from now on; those it no longer has stay.

    A fix that was just applied disappears from the proposals before its landing is noticed.
    """
    if row.state in _FIXED:
        return
    fresh = {
        fix.id: {"at": at.isoformat(), "figures": {name: one.model_dump() for name, one in fix.predicted.items()}}
        for fix in found.fixes
        if fix.predicted or fix.id not in (row.predictions or {})
    }
    if fresh:
        row.predictions = {**(row.predictions or {}), **fresh}


def shown(row: IncidentRow) -> list[FixPrediction]:
    """The predictions as the API shows them, in the order of the fixes."""
    order = {fix["id"]: number for number, fix in enumerate(row.finding.get("fixes", []))}
    told = ((fix_id, content) for fix_id, content in row.predictions.items() if content["figures"])
    kept = sorted(told, key=lambda item: (order.get(item[0], len(order)), item[0]))
    return [FixPrediction.model_validate({"fix_id": fix_id, **content}) for fix_id, content in kept]


def promised(row: IncidentRow, fix_id: str | None) -> dict[str, Interval]:
    """The predicted effect of a fix, by measure id; empty if there is no prediction."""
    content = row.predictions.get(fix_id) if fix_id is not None else None
    figures = {} if content is None else content["figures"]
    return {name: Interval.model_validate(one) for name, one in figures.items()}
