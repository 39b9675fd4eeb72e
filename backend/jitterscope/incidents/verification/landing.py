"""Detects that an incident's workload was changed, which of its fixes that is, and that a change was reverted."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog
from sqlalchemy.orm import Session

from jitterscope.db import organization_session
from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.landing import Seen
from jitterscope.diagnosis.core.registry import fix_of
from jitterscope.diagnosis.verification.changes import matching_fix
from jitterscope.diagnosis.verification.plan import kinds, sightings, watched
from jitterscope.incidents.api.verification_schemas import SettingStep
from jitterscope.incidents.api.views import time_of, us_of
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.store import of_subject
from jitterscope.incidents.verification import predict, verifications, workload
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.incidents.verification.verifications import Change
from jitterscope.incidents.verification.workload import Observed, Watch
from jitterscope.inventory import service as inventory

log = structlog.get_logger(__name__)
# Facts of one change arrive one after another; settled means that none came for this long.
_SETTLED_US = 5_000_000
# How much data of the new state is needed to read its setting.
_NEW_STATE_US = 30_000_000


def notice(organization_id: int, incident_id: int) -> bool:
    """Move the incident to fix_applied if its workload was changed, and back if the change was reverted.

    False while a change is still in progress: a verdict now would attribute it to the previous change.
    """
    with organization_session(organization_id) as session:
        row = session.get(IncidentRow, incident_id)
        if row is None or row.resolved_at is not None:
            return True
        baseline_at, known = row.baseline_at, verifications.waiting(session, incident_id)
        old_id = _unchanged(row, known)
        seen = _look(session, row, old_id)
        if seen is None or not _is_news(seen, known):
            return True
        clock_us = inventory.node_clock_us(session, seen.subject.node_id)
        if clock_us is None or clock_us - seen.at_us < _SETTLED_US:
            return False
        predicted = _predicted(session, row, old_id, seen, clock_us) if seen.steps else {}
    with organization_session(organization_id) as session:
        row = actions.locked(session, incident_id)
        waiting = verifications.waiting(session, incident_id)
        if row.baseline_at != baseline_at or row.resolved_at is not None or not _is_news(seen, waiting):
            return True
        if not seen.steps:
            if waiting is not None:
                _take_back(session, row, waiting)
            return True
        _start(session, row, waiting, seen, predicted)
    log.info("fix_noticed", organization_id=organization_id, incident_id=incident_id, steps=len(seen.steps))
    return True


def is_changed(session: Session, row: IncidentRow) -> bool:
    """Whether the workload was changed and `notice` has not recorded it yet."""
    known = verifications.waiting(session, row.id)
    seen = _look(session, row, _unchanged(row, known))
    return seen is not None and _is_news(seen, known)


def _look(session: Session, row: IncidentRow, old_id: int) -> Observed | None:
    """The workload now, compared with `old_id` at the baseline."""
    baseline_us = us_of(row.baseline_at)
    current = workload.current_subject(session, row.lives_on, baseline_us)
    if current is None:
        return None
    proposed = _proposed(row)
    # What was seen before the incident was opened belongs to the fault.
    fault_until_us = us_of(min(row.opened_at, row.window_to))
    watch = Watch(watched(row.cause, proposed), sightings(row.cause, proposed), fault_until_us, _named(row))
    return workload.observe(session, old_id, current, baseline_us, watch)


def _unchanged(row: IncidentRow, waiting: VerificationRow | None) -> int:
    """The subject as it was before the change."""
    return row.lives_on if waiting is None else waiting.before_subject_id


def _proposed(row: IncidentRow) -> list[str]:
    """Ids of the incident's fixes; those that only earlier findings proposed come last."""
    return list(dict.fromkeys([*(str(fix["id"]) for fix in row.finding.get("fixes", [])), *row.predictions]))


def _named(row: IncidentRow) -> tuple[int, ...]:
    """Ids of the resources that the evidence is about."""
    named = (one["resource_id"] for item in row.finding.get("evidence", []) for one in item.get("series", []))
    return tuple(dict.fromkeys(map(int, named)))


def _is_news(seen: Observed, waiting: VerificationRow | None) -> bool:
    if waiting is None:
        return bool(seen.steps)
    steps = [step.model_dump(mode="json") for step in _steps(seen)]
    if not steps:
        # What a user reports need not appear in the facts.
        return bool(waiting.changes)
    # A container that is killed again after the change continues in another cgroup.
    return steps != waiting.changes or waiting.subject_id not in seen.lives


def _predicted(session: Session, row: IncidentRow, old_id: int, seen: Observed, clock_us: int) -> dict[str, Interval]:
    longest_us = int(verifications.BEFORE[seen.subject.kind == "node"].total_seconds() * 1e6)
    from_us = max(us_of(verifications.fault_since(session, row)), seen.first_us - longest_us)
    after = (max(seen.at_us, clock_us - _NEW_STATE_US), clock_us)
    names = {one.id for one in sightings(row.cause, _proposed(row))}
    shown = [{name: facts[name] for name in names & facts.keys()} for facts in (seen.before, seen.after)]
    window = (from_us, seen.first_us)
    return predict.predicted(session, row.cause, old_id, window, seen.subject.id, after, (shown[0], shown[1]))


def _start(
    session: Session,
    row: IncidentRow,
    waiting: VerificationRow | None,
    seen: Observed,
    predicted: dict[str, Interval],
) -> None:
    if waiting is not None and waiting.started_by != "jitterscope" and not waiting.changes:
        # Facts supply the details of what a user announced.
        waiting.changes = [step.model_dump(mode="json") for step in _steps(seen)]
        waiting.applied_at = max(waiting.applied_at, time_of(seen.at_us))
        waiting.before_to = min(waiting.before_to, time_of(seen.first_us))
        waiting.predicted = verifications.stored(predicted)
        waiting.servers_ratio = _servers_ratio(row.cause, waiting.fix_id, seen)
        waiting.subject_id, waiting.subject_name = seen.subject.id, seen.subject.name
        row.successor_id = None if seen.subject.id == row.subject_id else seen.subject.id
        return
    proposed = kinds(row.cause, _proposed(row))
    fix_id = matching_fix(proposed, seen.steps, seen.before, seen.after)
    _absorb(session, row, seen)
    verifications.begin(
        session,
        row,
        Change(
            applied_at=time_of(seen.at_us),
            first_at=time_of(seen.first_us),
            fix_id=fix_id,
            fix_title=next((one.title for one in proposed if one.id == fix_id), verifications.ANOTHER),
            steps=tuple(_steps(seen)),
            subject_id=seen.subject.id,
            subject_name=seen.subject.name,
            predicted=predicted,
            servers_ratio=_servers_ratio(row.cause, fix_id, seen),
        ),
    )


def _servers_ratio(cause_id: str, fix_id: str | None, seen: Observed) -> float:
    kind = None if fix_id is None else fix_of(cause_id, fix_id)
    landing = None if kind is None else kind.landing
    if not isinstance(landing, Seen) or landing.servers_ratio is None:
        return 1.0
    return landing.servers_ratio(seen.before, seen.after)


def _absorb(session: Session, row: IncidentRow, seen: Observed) -> None:
    """Close what the same fault opened on the successor before it was known to be one, and stop listing it."""
    if seen.subject.id == row.subject_id:
        return
    row.also_affected = [one for one in row.also_affected if one["resource_id"] != seen.subject.id]
    for other in of_subject.active_of_cause(session, seen.subject.id, row.cause, without_id=row.id):
        other.state, other.resolved_at = "resolved", max(other.last_seen_at, datetime.now(UTC))
        record(session, other, "resolved", f"Continues as incident {row.id}: the same workload in a new cgroup.")
    session.flush()


def _take_back(session: Session, row: IncidentRow, waiting: VerificationRow) -> None:
    verifications.replace(waiting, "The change was reverted before it could be judged.")
    row.state = "open"
    row.successor_id = None if waiting.before_subject_id == row.subject_id else waiting.before_subject_id
    session.flush()
    record(session, row, "fix_withdrawn", f"{waiting.fix_title}: all settings are as before.")


def _steps(seen: Observed) -> list[SettingStep]:
    return [SettingStep(name=one.name, title=one.title, old=one.old, new=one.new) for one in seen.steps]
