"""Stored incidents and risks as the API and notifications show them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from jitterscope.diagnosis.core import shown
from jitterscope.diagnosis.core.finding import Evidence, Found, NotEnoughData
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents.api.harm_words import harm_reason
from jitterscope.incidents.api.schemas import (
    AffectedSubject,
    Incident,
    IncidentMute,
    IncidentSummary,
    Risk,
    SubjectRef,
    Transition,
)
from jitterscope.incidents.lifecycle import predictions
from jitterscope.incidents.models import IncidentRow, RiskRow, TransitionRow
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.incidents.verification.views import landings_of, payload_verification, verification_of
from jitterscope.kit.instant import time_of as time_of
from jitterscope.kit.instant import us_of as us_of
from jitterscope.notify.payload import (
    Payload,
    PayloadEvidence,
    PayloadFix,
    PayloadIncident,
    PayloadMute,
    PayloadSubject,
    PayloadTransition,
)
from jitterscope.settings import settings

_PROOF = 3


def cause_title(cause_id: str) -> str:
    """The title of a cause; its id if this version no longer has it."""
    cause = all_causes().get(cause_id)
    return cause_id if cause is None else cause.title


def subject_of(row: IncidentRow | RiskRow) -> SubjectRef:
    return SubjectRef(
        resource_id=row.subject_id,
        kind=row.subject_kind,
        key=row.subject_key,
        name=row.subject_name,
        node=row.subject_node,
    )


def muted_now(row: IncidentRow, now: datetime | None = None) -> bool:
    """Whether notifications of the incident are held back."""
    return row.muted and (row.muted_until is None or row.muted_until > (now or datetime.now(UTC)))


def summary_of(row: IncidentRow) -> IncidentSummary:
    return IncidentSummary.model_validate(_summary(row, Found.model_validate(row.finding)))


def incident_of(
    row: IncidentRow,
    history: list[TransitionRow],
    verification: VerificationRow | None = None,
    named: PayloadSubject | None = None,
    besides: Sequence[Evidence] = (),
) -> Incident:
    """`named`: the subject with its Kubernetes names; `besides`: evidence that is not part of the finding."""
    found = Found.model_validate(row.finding)
    cause = all_causes().get(row.cause)
    return Incident.model_validate(
        _summary(row, found)
        | {
            "namespace": None if named is None else named.namespace,
            "workload": None if named is None else named.workload,
            "summary": found.summary,
            "window_from": row.window_from,
            "window_to": row.window_to,
            "trigger_at": row.trigger_at,
            "evidence": [*found.evidence, *besides],
            "rivals": found.rivals,
            "fixes": found.fixes,
            "not_enough_data": [NotEnoughData.model_validate(item) for item in row.not_enough_data],
            "references": [] if cause is None else list(cause.references),
            "history": [Transition.model_validate(item) for item in _history(history)],
            "pinned": row.pinned,
            "predictions": predictions.shown(row),
            "landings": landings_of(row.cause, [fix.id for fix in found.fixes]),
            "verification": None if verification is None else verification_of(verification),
        }
    )


def risk_of(row: RiskRow) -> Risk:
    found = Found.model_validate(row.finding)
    return Risk(
        id=row.id,
        cause=row.cause,
        cause_title=cause_title(row.cause),
        title=found.title,
        summary=found.summary,
        harm=found.harm,
        harm_reason=harm_reason(found),
        confidence=found.confidence,
        subject=subject_of(row),
        first_seen_at=row.first_seen_at,
        last_seen_at=row.last_seen_at,
        impact=found.impact,
        figures=shown.figures(row.cause, found.impact),
        evidence=found.evidence,
        fixes=found.fixes,
    )


def payload_of(
    row: IncidentRow,
    transition: TransitionRow,
    subject: PayloadSubject,
    verification: VerificationRow | None = None,
    besides: Sequence[Evidence] = (),
) -> Payload:
    """The notification of a transition, with the incident's state after it."""
    found = Found.model_validate(row.finding)
    helpful = [fix for fix in found.fixes if fix.verdict != "cannot_help"]
    return Payload(
        version=1,
        type=f"incident.{transition.action}",
        organization_id=row.organization_id,
        transition=PayloadTransition.model_validate(
            {name: getattr(transition, name) for name in PayloadTransition.model_fields}
        ),
        incident=PayloadIncident.model_validate(
            {
                "id": row.id,
                "url": incident_url(row.id),
                "cause": row.cause,
                "cause_title": cause_title(row.cause),
                "title": row.title,
                "summary": found.summary,
                "severity": row.severity,
                "harm": found.harm,
                "confidence": row.confidence,
                "state": row.state,
                "subject": subject,
                "onset_at": row.onset_at,
                "last_seen_at": row.last_seen_at,
                "impact": found.impact,
                "evidence": [
                    PayloadEvidence(statement=item.statement, value=item.value, comparison=item.comparison)
                    for item in (*found.evidence[:_PROOF], *besides)
                ],
                "top_fix": None
                if not helpful
                else PayloadFix.model_validate({name: getattr(helpful[0], name) for name in PayloadFix.model_fields}),
                "verification": None if verification is None else payload_verification(verification),
                "mute": _payload_mute(row),
            }
        ),
    )


def _payload_mute(row: IncidentRow) -> PayloadMute | None:
    if row.mute is None or not muted_now(row):
        return None
    return PayloadMute(
        until=row.muted_until, by=row.mute["by"], reason=row.mute["reason"], only_this=row.mute["only_this"]
    )


def incident_url(incident_id: int) -> str:
    """The URL of its page."""
    return f"{settings().public_url.rstrip('/')}/incidents/{incident_id}"


def _summary(row: IncidentRow, found: Found) -> dict[str, object]:
    muted = muted_now(row)
    return {
        "id": row.id,
        "cause": row.cause,
        "cause_title": cause_title(row.cause),
        "title": row.title,
        "severity": row.severity,
        "harm": found.harm,
        "confidence": row.confidence,
        "state": row.state,
        "muted": muted,
        "muted_until": row.muted_until if muted else None,
        "mute": None if row.mute is None or not muted else IncidentMute.model_validate(row.mute),
        "subject": subject_of(row),
        "also_affected": [_affected(row.cause, one) for one in row.also_affected],
        "opened_at": row.opened_at,
        "onset_at": row.onset_at,
        "last_seen_at": row.last_seen_at,
        "resolved_at": row.resolved_at,
        "occurrences": row.occurrences,
        "impact": found.impact,
        "figures": shown.figures(row.cause, found.impact),
    }


def _affected(cause_id: str, member: dict[str, Any]) -> AffectedSubject:
    return AffectedSubject.model_validate(
        {name: member[name] for name in SubjectRef.model_fields}
        | {
            "first_at": time_of(member["first_us"]),
            "last_at": time_of(member["last_us"]),
            "impact": member["impact"],
            "figures": shown.figures_of_subject(cause_id, member["impact"]),
        }
    )


def _history(rows: list[TransitionRow]) -> list[dict[str, object]]:
    shown = ("id", "at", "actor", "action", "detail", "author_id", "edited_at")
    return [
        {name: getattr(row, name) for name in shown}
        | {"deleted": row.author_id is not None and row.action == "noted" and row.detail is None}
        for row in rows
    ]
