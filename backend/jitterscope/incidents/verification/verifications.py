"""Verifications of an incident: read, start, replace. What they measure is in measure.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.registry import fix_of
from jitterscope.diagnosis.core.settings import changed
from jitterscope.diagnosis.verification.changes import SHORTEST_BEFORE_US
from jitterscope.errors import Problem
from jitterscope.incidents.api.verification_schemas import SettingStep, VerificationResult
from jitterscope.incidents.lifecycle import actions, predictions
from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.store import of_subject
from jitterscope.incidents.verification import store
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.incidents.verification.store import MOST_OF_INCIDENT as MOST_OF_INCIDENT
from jitterscope.incidents.verification.store import newest as newest
from jitterscope.incidents.verification.store import of_incident as of_incident
from jitterscope.incidents.verification.store import waiting as waiting
from jitterscope.tenancy.principal import Principal

# The most time on either side of a change that is compared; on a node (True), faults are rare.
BEFORE = {False: timedelta(minutes=30), True: timedelta(hours=3)}
ANOTHER = "Another change"
# How much of the compared time may precede the first symptom.
_LEAD = timedelta(seconds=10)
_SHORTEST_BEFORE = timedelta(microseconds=SHORTEST_BEFORE_US)


@dataclass(frozen=True, slots=True)
class Change:
    """What was changed, and where the subject lives afterwards. `fix_id` is None for a change that no fix proposes.

    `applied_at` is the last of the changes, `first_at` the first: the time between is neither before nor after.
    `servers_ratio`: times as many servers share the load afterwards.
    """

    applied_at: datetime
    first_at: datetime
    fix_id: str | None
    fix_title: str
    steps: tuple[SettingStep, ...]
    subject_id: int
    subject_name: str
    predicted: Mapping[str, Interval]
    servers_ratio: float = 1.0


def start_by_hand(
    session: Session,
    principal: Principal,
    incident_id: int,
    fix_id: str | None,
    applied_at: datetime | None,
    note: str | None,
) -> IncidentRow:
    """Start a verification because a user says that a fix was applied. Raises Problem 404, 409, 422."""
    row = actions.locked(session, incident_id)
    now = datetime.now(UTC)
    at = applied_at or now
    if at.tzinfo is None:
        raise Problem(
            422, "no-time-zone", "Time zone missing", "`applied_at` has no time zone.", "Give the time in UTC."
        )
    if at > now + timedelta(minutes=1):
        raise Problem(
            422,
            "in-the-future",
            "Time is in the future",
            "`applied_at` is in the future.",
            "Enter the time at which the fix took effect.",
        )
    if at < row.baseline_at + _SHORTEST_BEFORE:
        raise Problem(
            422,
            "before-the-fault",
            "Nothing to compare with",
            f"The incident's fault was first seen at {row.baseline_at:%Y-%m-%d %H:%M:%SZ}. A fix applied before that, "
            f"or less than {_SHORTEST_BEFORE.seconds} s after it, leaves no data to compare with.",
            "Enter the time at which the fix took effect.",
        )
    titles = {str(fix["id"]): str(fix["title"]) for fix in row.finding.get("fixes", [])}
    if fix_id is not None and fix_id not in titles and fix_id not in row.predictions:
        raise Problem(
            422,
            "unknown-fix",
            "Unknown fix",
            f"The incident has no fix {fix_id[:100]!r}.",
            f"Use one of {', '.join(sorted(titles)) or 'none'}, or omit it for another change.",
        )
    _must_be_alone(session, row)
    change = Change(
        applied_at=at,
        first_at=at,
        fix_id=fix_id,
        fix_title=ANOTHER if fix_id is None else titles.get(fix_id) or _title_of(row.cause, fix_id),
        steps=(),
        subject_id=row.lives_on,
        subject_name=row.subject_name,
        predicted={},
    )
    begin(session, row, change, f"{change.fix_title}: {note.strip()}" if note and note.strip() else None, principal)
    return row


def _title_of(cause: str, fix_id: str) -> str:
    kind = fix_of(cause, fix_id)
    return fix_id if kind is None else kind.title


def begin(
    session: Session, row: IncidentRow, change: Change, detail: str | None = None, principal: Principal | None = None
) -> VerificationRow:
    """Make the incident, whose lock is held, wait for a verdict on `change`."""
    before = waiting(session, row.id)
    if before is not None:
        replace(before, f"Replaced by another change at {change.applied_at:%H:%M:%SZ}.")
        session.flush()
    started = VerificationRow(
        organization_id=row.organization_id,
        incident_id=row.id,
        state="waiting",
        started_by="jitterscope" if principal is None else principal.actor,
        applied_at=change.applied_at,
        fix_id=change.fix_id,
        fix_title=change.fix_title,
        changes=[step.model_dump(mode="json") for step in change.steps],
        before_subject_id=row.lives_on if before is None else before.before_subject_id,
        subject_id=change.subject_id,
        subject_name=change.subject_name,
        before_from=max(fault_since(session, row), change.first_at - BEFORE[row.subject_kind == "node"]),
        # If an earlier change still has no verdict, its effect is not part of the state before.
        before_to=min(change.first_at, before.before_to) if before is not None else change.first_at,
        servers_ratio=change.servers_ratio,
        predicted=stored(change.predicted),
        promised=stored(predictions.promised(row, change.fix_id)),
        waiting_for="Data from after the change.",
    )
    session.add(started)
    row.state, row.resolved_at = "fix_applied", None
    row.successor_id = None if change.subject_id == row.subject_id else change.subject_id
    session.flush()
    record(session, row, "fix_applied", detail or describe(change), principal, started)
    return started


def fault_since(session: Session, row: IncidentRow) -> datetime:
    """Since when the fault existed with the settings before the change: after an earlier fix, if there was one."""
    last = store.last_failed(session, row.id)
    if last is not None:
        after_from = VerificationResult.model_validate(last.result).after_from
        if after_from is not None and after_from <= row.baseline_at:
            return after_from
    return row.baseline_at - _LEAD


def replace(verification: VerificationRow, why: str) -> None:
    """End it without a verdict."""
    verification.state, verification.finished_at = "replaced", datetime.now(UTC)
    verification.waiting_for, verification.verdict = None, why


def stored(predicted: Mapping[str, Interval]) -> dict[str, Any]:
    """Predictions by measure, in stored form."""
    return {name: one.model_dump(mode="json") for name, one in predicted.items()}


def intervals(content: Mapping[str, Any]) -> dict[str, Interval]:
    """The inverse of `stored`."""
    return {name: Interval.model_validate(one) for name, one in content.items()}


def describe(change: Change) -> str:
    """ "Raise the CPU limit: CPU limit 0.5 → 1"."""
    steps = "; ".join(wording(step) for step in change.steps)
    return f"{change.fix_title}: {steps}" if steps else change.fix_title


def wording(step: SettingStep) -> str:
    """ "CPU limit 0.5 → 1"."""
    if step.old is None and step.new is None:
        return step.title
    return changed(step.title, step.old, step.new)


def _must_be_alone(session: Session, row: IncidentRow) -> None:
    """Refuse unless a closed incident is alone: it can be measured again only while no other of its kind is active."""
    if row.resolved_at is None:
        return
    other = of_subject.active_alike(session, row.lives_on, row.cause)
    if other is not None:
        raise Problem(
            409,
            "another-is-active",
            "Another incident is active",
            f"Incident {other} has the same cause and subject and is active.",
            f"Verify incident {other} instead.",
        )
