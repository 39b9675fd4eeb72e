"""Ends incidents of nodes that fell silent: whether their faults go on is not known."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope.incidents.lifecycle.transitions import record
from jitterscope.incidents.models import IncidentRow
from jitterscope.incidents.scheduling import plan
from jitterscope.incidents.store import of_subject
from jitterscope.incidents.store.locks import lock_subject
from jitterscope.incidents.verification import verifications
from jitterscope.inventory import service as inventory
from jitterscope.inventory.types import ResourceRow
from jitterscope.kit.instant import time_of


def end(session: Session, subject: ResourceRow) -> list[IncidentRow]:
    """End a subject's active incidents as not known if its node's collector has sent nothing for `plan.SILENCE`.

    They end with the node's data, so that the fault reopens them if it shows in later data. A fix that waits for its
    verdict gets none. An incident that other subjects showed since then goes on.
    """
    lock_subject(session, subject.id)
    since_us = inventory.silent_since_us(session, subject.node_id, plan.SILENCE)
    node = inventory.resource(session, subject.node_id)
    if since_us is None or node is None:
        return []
    silent_since = time_of(since_us)
    why = f"no data from {node.name} since {silent_since:%Y-%m-%d %H:%M:%S} UTC."
    rows = of_subject.active_without_data(session, subject.id, plan.SILENCE)
    for row in rows:
        if (waiting := verifications.waiting(session, row.id)) is not None:
            verifications.replace(waiting, f"Not known: {why}")
        row.state, row.resolved_at = "not_known", max(silent_since, row.last_seen_at)
        record(session, row, "not_known", f"Not known any more: {why}")
    return list(rows)
