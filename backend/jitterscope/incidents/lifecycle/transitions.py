"""A transition is one transaction's work: history, audit trail, outbox and, once committed, the live event."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.audit import service as audit
from jitterscope.db import after_commit
from jitterscope.incidents.api.live import event_of, tell
from jitterscope.incidents.api.views import muted_now, payload_of
from jitterscope.incidents.coincidence import before_onset
from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.models import IncidentRow, TransitionRow
from jitterscope.incidents.verification.models import VerificationRow
from jitterscope.notify import outbox
from jitterscope.notify.payload import ACTIONS
from jitterscope.tenancy.auth import Principal

# Then people ask what was changed.
_BEGIN = ("opened", "reopened")


def record(
    session: Session,
    row: IncidentRow,
    action: str,
    detail: str | None = None,
    principal: Principal | None = None,
    verification: VerificationRow | None = None,
) -> TransitionRow:
    """Write down what just happened to `row`, which already shows it. `principal` is None for the service itself.

    `verification` goes into notifications where the transition is about one.
    """
    changed = audit.changes_of(row, ("state", "resolved_at", "muted", "muted_until", "pinned"))
    muted = muted_now(row)
    transition = TransitionRow(
        organization_id=row.organization_id,
        incident_id=row.id,
        actor="jitterscope" if principal is None else principal.actor,
        action=action,
        detail=detail,
        severity=row.severity,
        cause=row.cause,
        muted=muted,
    )
    session.add(transition)
    session.flush()
    session.refresh(transition)
    name, target, facts = f"incident.{action}", f"incident {row.id}", {"cause": row.cause, "detail": detail, **changed}
    if principal is None:
        audit.record_system(session, name, target, facts)
    else:
        audit.record(session, principal, name, target, facts)
    if muted:
        outbox.withdraw(session, row.id)
    elif action in ACTIONS:
        reach = reach_of(session, [row])[row.id]
        besides = before_onset(session, row) if action in _BEGIN else ()
        outbox.enqueue(session, payload_of(row, transition, reach.subject, verification, besides), reach.others)
    event, organization_id = event_of(transition), row.organization_id
    after_commit(session, lambda: tell(organization_id, event))
    return transition
