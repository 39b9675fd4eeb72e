"""One visit of an incident: was its workload changed, and can the change be judged yet?

Reading and reasoning hold no lock; the result is applied under the subject's lock, if it is still valid.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope.db import engine, organization_session
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.verification import landing, store, verifications
from jitterscope.incidents.verification.calibration import OTHER
from jitterscope.incidents.verification.measure import Measured, due, measure
from jitterscope.incidents.verification.models import OutcomeRow, VerificationRow
from jitterscope.inventory import service as inventory
from jitterscope.kit.perobject import PerObject

# Changes that only a window shows, and a workload that moved to another node, change no fact of this node.
_ANYWAY = timedelta(seconds=30)
# Facts of one change arrive one after another, and are examined once none came for some seconds.
_SETTLING = timedelta(seconds=20)
_MOST_KNOWN = 10_000
_visited: PerObject[dict[int, datetime]] = PerObject(dict)


def with_news(organization_id: int) -> list[int]:
    """Incidents that are not over and worth a visit.

    Something changed on their node since this process last sent a visitor, a fix waits for its verdict, or the last
    visit was a while ago.
    """
    with organization_session(organization_id) as session:
        rows = store.active_incidents(session)
        changed = inventory.facts_changed_at(session, [row.subject_id for row in rows]) if rows else {}
        now = store.clock(session)
    visited = _visited.of(engine())
    before = {row.id: visited.get(row.id) for row in rows}
    wanted = [
        row.id
        for row in rows
        if row.waits
        or (last := before[row.id]) is None
        or now - last >= _ANYWAY
        or (row.subject_id in changed and changed[row.subject_id] > last - _SETTLING)
    ]
    visited.update(dict.fromkeys(wanted, now))
    for incident_id in visited.keys() - before.keys() if len(visited) > _MOST_KNOWN else ():
        visited.pop(incident_id, None)
    return wanted


def visit(organization_id: int, incident_id: int) -> None:
    """Start, update, or finish the verification of an incident. Safe to repeat at any time."""
    if not landing.notice(organization_id, incident_id):
        return
    with organization_session(organization_id) as session:
        row = session.get(IncidentRow, incident_id)
        waiting = verifications.waiting(session, incident_id)
        if row is None or waiting is None or not due(waiting):
            return
        cause_id = row.cause
        session.expunge(waiting)
    with organization_session(organization_id) as session:
        measured = measure(session, cause_id, waiting)
    with organization_session(organization_id) as session:
        row = actions.locked(session, incident_id)
        current = verifications.waiting(session, incident_id)
        if current is None or current.id != waiting.id or current.applied_at != waiting.applied_at:
            return
        _apply(session, row, current, measured)


def _apply(session: Session, row: IncidentRow, waiting: VerificationRow, measured: Measured) -> None:
    """Store what a look measured, or end the verification with its verdict."""
    waiting.checked_at = datetime.now(UTC)
    waiting.result = measured.result.model_dump(mode="json")
    waiting.waiting_for = measured.waiting_for
    if measured.verdict == "waiting":
        if measured.gave_up:
            _give_up(session, row, waiting)
        return
    waiting.state, waiting.verdict, waiting.waiting_for = measured.verdict, measured.sentence, None
    waiting.finished_at = datetime.now(UTC)
    after_to = measured.result.after_to
    assert after_to is not None, "a verdict has a window"
    row.state = measured.verdict
    # What changes from now on is another fix.
    row.baseline_at = after_to
    if measured.verdict == "verified":
        row.resolved_at = max(after_to, row.last_seen_at)
    for one in measured.figures:
        if one.predicted is None or one.after is None or one.inside is None or one.error_ratio is None:
            continue
        session.add(
            OutcomeRow(
                organization_id=row.organization_id,
                incident_id=row.id,
                verification_id=waiting.id,
                subject_name=waiting.subject_name,
                fix_id=waiting.fix_id or OTHER,
                metric=one.measure.id,
                predicted=one.predicted.model_dump(mode="json"),
                measured=one.after,
                before=one.before,
                inside=one.inside,
                error_ratio=one.error_ratio,
            )
        )
    session.flush()
    record(session, row, measured.verdict, waiting.verdict, None, waiting)


def _give_up(session: Session, row: IncidentRow, waiting: VerificationRow) -> None:
    why = f"No comparison was possible within 24 h. Missing: {waiting.waiting_for or 'data'}"
    verifications.replace(waiting, why)
    row.state, row.baseline_at = "open", max(row.baseline_at, waiting.applied_at)
    session.flush()
    record(session, row, "noted", why)
