"""An incident's subject is not dropped, however long it has not been seen."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import text

from jitterscope import db
from jitterscope.incidents.scheduling import tasks
from jitterscope.inventory import expiry
from jitterscope.recordings.model import Recording


def test_the_subject_of_an_incident_stays(service: Any, gc_fault: Recording, organization: Any) -> None:
    assert tasks.referred in expiry._providers  # importing the tasks registers the provider, as in every worker
    service.diagnose(service.feed(gc_fault))
    (incident,) = service.get("/incidents")["items"]
    with db.organization_session(organization.id) as session:
        session.execute(text("UPDATE incidents SET state = 'resolved', resolved_at = now()"))
        aged = session.execute(
            text(
                "UPDATE resources SET last_seen_at = now() - interval '500 days', "
                "first_seen_at = now() - interval '501 days' RETURNING id"
            )
        )
        before = set(aged.scalars())
    assert expiry.drop_gone(organization.id, time.time_ns() // 1000) > 0
    with db.organization_session(organization.id) as session:
        left = {row.id: row.kind for row in session.execute(text("SELECT id, kind FROM resources"))}
    assert set(left) < before
    assert left[service.get(f"/incidents/{incident['id']}")["subject"]["resource_id"]] == "cgroup"
    assert "node" in left.values()
    assert "process" not in left.values()
