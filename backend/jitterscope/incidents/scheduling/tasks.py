"""Celery tasks of incidents. Each is safe to run twice."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.db import each_organization
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents import retention as pins
from jitterscope.incidents.scheduling import diagnoses, dispatch
from jitterscope.incidents.verification import visit as verification
from jitterscope.inventory.expiry import register_referrer
from jitterscope.series.pins import PinnedWindow, register_pins

# Import every cause at the start: the first stall is diagnosed as fast as the others.
all_causes()


@worker.app.task(name=dispatch.TASK)  # type: ignore[untyped-decorator]
def look() -> None:
    """Something is due: diagnose it."""
    dispatch.look_at_what_is_due()


@worker.periodic(seconds=2)
def poll() -> None:
    """Find what is due where no message told of it: it was lost, or what was planned is due now."""
    dispatch.look_at_what_is_due()


@worker.periodic(seconds=10)
def plan_visits() -> None:
    """Plan looks at DNS servers, nodes and active incidents that nobody has to look at."""
    each_organization("plan visits", diagnoses.plan_visits)


@worker.app.task(name="incidents.verify")  # type: ignore[untyped-decorator]
def verify(organization_id: int, incident_id: int) -> None:
    """Look whether an incident's workload was changed, and whether a change can be judged."""
    verification.visit(organization_id, incident_id)


@worker.periodic(seconds=10)
def verify_fixes() -> None:
    """Visit the incidents that may have news."""

    def of(organization_id: int) -> None:
        for incident_id in verification.with_news(organization_id):
            worker.app.send_task(
                "incidents.verify",
                kwargs={"organization_id": organization_id, "incident_id": incident_id},
                expires=10,
                retry=False,
            )

    each_organization("verify fixes", of)


@register_pins
def pinned(session: Session) -> list[PinnedWindow]:
    """What incidents refer to is kept."""
    return pins.windows(session)


@register_referrer
def referred(session: Session) -> list[int]:
    """Resources that incidents are about stay, however long they are gone."""
    return pins.subjects(session)
