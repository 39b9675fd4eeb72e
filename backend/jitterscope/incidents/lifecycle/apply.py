"""Applies diagnoses to stored incidents. The subject's lock makes one worker at a time decide."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.orm import Session

from jitterscope.db import clock
from jitterscope.diagnosis.core.engine import Diagnosis
from jitterscope.diagnosis.core.finding import Found
from jitterscope.incidents.api.schemas import SubjectRef
from jitterscope.incidents.api.views import cause_title, time_of, us_of
from jitterscope.incidents.lifecycle import decide as lifecycle
from jitterscope.incidents.lifecycle import predictions, remainder, shared_trouble
from jitterscope.incidents.lifecycle.decide import Known, Strength
from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.store import of_subject, risks
from jitterscope.incidents.store.locks import lock_subject
from jitterscope.inventory import service as inventory
from jitterscope.settings import settings

# The displayed data of an ongoing risk may be this old (data time).
_RISK_SHOWN_US = 60_000_000
# Why an incident is open again, by the state in which it had ended.
_RETURNED = {
    "resolved": "The same symptom with the same cause returned within 24 h.",
    "not_known": "There is data again, and it shows the same symptom with the same cause.",
}
_NEWS = lifecycle.Open | lifecycle.Update | lifecycle.Reopen | lifecycle.Reclassify


class _Findings:
    """Findings with their fixes, which are computed once, and only for findings that users will see."""

    def __init__(self, complete: Callable[[Found], Found]) -> None:
        self._complete, self._done = complete, dict[str, Found]()

    def full(self, found: Found) -> Found:
        if found.cause not in self._done:
            self._done[found.cause] = self._complete(found)
        return self._done[found.cause]


def apply_diagnosis(
    session: Session,
    subject: SubjectRef,
    diagnosis: Diagnosis,
    window: tuple[int, int],
    clock_us: int,
    complete: Callable[[Found], Found] = lambda found: found,
    is_changed: Callable[[IncidentRow], bool] = lambda row: False,
) -> list[IncidentRow]:
    """Open, update, reopen, correct, and resolve incidents from a diagnosis of [window); returns those that changed.

    `clock_us` is the newest data of the subject's node. A window older than one already applied is ignored. `complete`
    adds what only users need, the fixes: it is called for findings that will be shown, before anything is locked. A
    quiet incident is not resolved if its workload `is_changed`: its fix will be judged.
    """
    findings = _Findings(complete)
    if diagnosis.findings:
        _prepare(session, subject.resource_id, diagnosis, window[0], findings)
    may_spread = shared_trouble.lock(session, subject.resource_id, diagnosis.findings)
    lock_subject(session, subject.resource_id)
    if not schedule.advance(session, subject.resource_id, window[1]):
        return []
    rows = {row.id: row for row in of_subject.relevant(session, subject.resource_id)}
    known = [_known(session, row) for row in rows.values()]
    changes = lifecycle.decide(known, diagnosis.findings, diagnosis.not_found, window[0])
    missing = [item.model_dump(mode="json") for item in diagnosis.not_enough_data]
    changed = []
    for change in changes:
        if isinstance(change, lifecycle.Open) and _has_moved_on(session, subject.resource_id, change.found):
            continue
        if isinstance(change, lifecycle.Open | lifecycle.Reopen | lifecycle.Reclassify):
            elsewhere, row = _elsewhere(session, subject, change, rows)
            if elsewhere:
                changed += [] if row is None else [row]
                continue
        if may_spread and isinstance(change, lifecycle.Update):
            own = rows[change.incident.id]
            if (older := shared_trouble.older_of_its_workload(session, own, change.found)) is not None:
                shared_trouble.absorb(session, older, own)
                changed += [own, older]
                continue
        row = _apply(session, subject, change, rows, window, missing, findings)
        changed += [] if row is None else [row]
        if may_spread and row is not None and isinstance(change, _NEWS):
            for follower in shared_trouble.followers(session, subject.resource_id, change.found):
                shared_trouble.absorb(session, row, follower)
                changed.append(follower)
    still_known = [_known(session, row) for row in rows.values()]
    quiet_us = int(settings().incident_quiet_s * 1_000_000)
    for resolve in lifecycle.resolve_quiet(still_known, clock_us, quiet_us):
        row = rows[resolve.incident.id]
        if is_changed(row):
            continue
        row.state, row.resolved_at = "resolved", time_of(resolve.at_us)
        record(session, row, "resolved", resolve.reason)
        changed.append(row)
    return changed


def _has_moved_on(session: Session, subject_id: int, found: Found) -> bool:
    """Whether an incident that now follows the subject's successor already reported this trouble.

    A rollout replaced the subject, but its earlier data is still in the window.
    """
    lives = inventory.lives_of(session, subject_id)
    return of_subject.moved_on(session, lives, found.cause, time_of(found.onset_us))


def _elsewhere(
    session: Session,
    subject: SubjectRef,
    change: lifecycle.Open | lifecycle.Reopen | lifecycle.Reclassify,
    rows: dict[int, IncidentRow],
) -> tuple[bool, IncidentRow | None]:
    """Whether the finding belongs to an incident of another subject, and that incident if it changed."""
    host = shared_trouble.host_of(session, subject.resource_id, change.found)
    if host is None:
        return shared_trouble.is_told(session, subject.resource_id, change.found), None
    if isinstance(change, lifecycle.Reclassify):
        shared_trouble.merge(session, rows[change.incident.id], host)
    return True, host if shared_trouble.join(session, host, subject, change.found) else None


def _apply(
    session: Session,
    subject: SubjectRef,
    change: lifecycle.Change,
    rows: dict[int, IncidentRow],
    window: tuple[int, int],
    missing: list[dict[str, object]],
    findings: _Findings,
) -> IncidentRow | None:
    match change:
        case lifecycle.Open(found):
            row = _new(session, subject, findings.full(found), window, missing)
            rows[row.id] = row
            record(session, row, "opened", found.summary)
            return row
        case lifecycle.Update(incident, found, strongest, escalated_to):
            row = rows[incident.id]
            _seen(row, found)
            if strongest:
                _show(row, subject, findings.full(found), window, missing)
            if escalated_to is not None:
                before, row.severity = row.severity, escalated_to
                record(session, row, "escalated", f"From {before} to {escalated_to}.")
            return row
        case lifecycle.Continue(incident, last_us):
            row = rows[incident.id]
            row.last_seen_at = time_of(last_us)
            row.occurrences += 1
            return row
        case lifecycle.Reopen(incident, found):
            row = rows[incident.id]
            row.state, row.resolved_at = "open", None
            row.baseline_at = time_of(found.onset_us)
            _seen(row, found)
            _show(row, subject, findings.full(found), window, missing)
            row.severity = found.severity or row.severity
            record(session, row, "reopened", _RETURNED.get(incident.state, _RETURNED["resolved"]))
            return row
        case lifecycle.Reclassify(incident, found, reason):
            row = rows[incident.id]
            before = cause_title(row.cause)
            row.cause = found.cause
            row.severity = found.severity or row.severity
            _seen(row, found)
            _show(row, subject, findings.full(found), window, missing)
            record(session, row, "reclassified", f"With more data this is not “{before}”: {reason}")
            return row
        case lifecycle.Supersede(incident, by_cause, reason):
            row = rows[incident.id]
            row.state, row.resolved_at = "resolved", row.last_seen_at
            record(session, row, "resolved", f"Replaced by “{cause_title(by_cause)}” of the same subject: {reason}")
            return row
        case lifecycle.NoteRisk(found):
            if not _touch_risk(session, subject.resource_id, found):
                _note_risk(session, subject, findings.full(found))
            return None
        case lifecycle.Resolve():
            raise AssertionError("decide() does not resolve; resolve_quiet() does")


def _new(
    session: Session, subject: SubjectRef, found: Found, window: tuple[int, int], missing: list[dict[str, object]]
) -> IncidentRow:
    row = IncidentRow(
        organization_id=session.info["organization_id"],
        **_subject_columns(subject),
        cause=found.cause,
        severity=found.severity,
        state="open",
        muted=False,
        also_affected=[],
        occurrences=1,
        pinned=False,
        onset_at=time_of(found.onset_us),
        baseline_at=time_of(found.onset_us),
        opened_at=clock(),
        last_seen_at=time_of(found.last_us),
    )
    _show(row, subject, found, window, missing)
    session.add(row)
    risks.remove(session, subject.resource_id, found.cause)
    session.flush()
    session.refresh(row)
    return row


def _show(
    row: IncidentRow, subject: SubjectRef, found: Found, window: tuple[int, int], missing: list[dict[str, object]]
) -> None:
    """Show this window's evidence; if it is about the subject's successor, that becomes the subject."""
    if row.successor_id is not None:
        for name, value in _subject_columns(subject).items():
            setattr(row, name, value)
        row.successor_id = None
    predictions.keep(row, found, time_of(window[1]))
    row.title, row.confidence = found.title, found.confidence
    row.finding, row.not_enough_data = found.model_dump(mode="json"), missing
    row.window_from, row.window_to = time_of(window[0]), time_of(window[1])
    row.trigger_at = time_of(found.last_us)


def _seen(row: IncidentRow, found: Found) -> None:
    row.onset_at = min(row.onset_at, time_of(found.onset_us))
    last = time_of(found.last_us)
    if last > row.last_seen_at:
        row.last_seen_at = last
        row.occurrences += 1


def _touch_risk(session: Session, subject_id: int, found: Found) -> bool:
    """Record that a risk still exists; False if there is none yet, or its displayed data is old."""
    return risks.touch(session, subject_id, found.cause, found.last_us, found.last_us - _RISK_SHOWN_US)


def _note_risk(session: Session, subject: SubjectRef, found: Found) -> None:
    values = {
        "organization_id": session.info["organization_id"],
        **_subject_columns(subject),
        "cause": found.cause,
        "first_seen_at": time_of(found.onset_us),
        "last_seen_at": time_of(found.last_us),
        "finding": found.model_dump(mode="json"),
    }
    risks.put(session, values)


def _prepare(session: Session, subject_id: int, diagnosis: Diagnosis, start_us: int, findings: _Findings) -> None:
    """Have the fixes of findings that will be shown computed before any lock is held."""
    known = [_known(session, row) for row in of_subject.relevant(session, subject_id, lock=False)]
    for change in lifecycle.decide(known, diagnosis.findings, diagnosis.not_found, start_us):
        match change:
            case lifecycle.Open(found) | lifecycle.Reopen(_, found) | lifecycle.Reclassify(_, found):
                findings.full(found)
            case lifecycle.Update(_, found, strongest=True):
                findings.full(found)
            case lifecycle.NoteRisk(found) if not _touch_risk(session, subject_id, found):
                findings.full(found)
            case _:
                pass


def _known(session: Session, row: IncidentRow) -> Known:
    return Known(
        id=row.id,
        cause=row.cause,
        state=row.state,  # type: ignore[arg-type]
        severity=row.severity,  # type: ignore[arg-type]
        onset_us=us_of(row.onset_at),
        last_us=us_of(row.last_seen_at),
        resolved_us=None if row.resolved_at is None else us_of(row.resolved_at),
        strength=Strength.of(Found.model_validate(row.finding)),
        accepted=remainder.of(session, row),
    )


def _subject_columns(subject: SubjectRef) -> dict[str, object]:
    return {
        "subject_id": subject.resource_id,
        "subject_kind": subject.kind,
        "subject_key": subject.key,
        "subject_name": subject.name,
        "subject_node": subject.node,
    }


def resolve_gone(session: Session, subject_id: int) -> list[IncidentRow]:
    """Close active incidents of a subject that is no longer stored, or no longer has data."""
    lock_subject(session, subject_id)
    rows = of_subject.active(session, subject_id)
    for row in rows:
        row.state, row.resolved_at = "resolved", row.last_seen_at
        record(session, row, "resolved", "The resource no longer exists and its data has expired.")
    return list(rows)
