"""One incident with everything that its page shows."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.incidents.api import node_names, views
from jitterscope.incidents.api.schemas import Incident
from jitterscope.incidents.coincidence import before_onset
from jitterscope.incidents.lifecycle import actions
from jitterscope.incidents.lifecycle.reach import reach_of
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.verification import verifications


def incident(session: Session, row: IncidentRow) -> Incident:
    """The incident as the API shows it."""
    session.flush()
    named = reach_of(session, [row])[row.id].subject
    history, verification = actions.history(session, row.id), verifications.newest(session, row.id)
    whole = views.incident_of(row, history, verification, named, before_onset(session, row))
    return node_names.told_apart(session, [whole])[0]
