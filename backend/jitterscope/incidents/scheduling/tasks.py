"""Celery tasks of incidents. Each is safe to run twice."""

from __future__ import annotations

from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.db import each_organization
from jitterscope.diagnosis.core.registry import all_causes
from jitterscope.incidents import retention
from jitterscope.incidents.scheduling import diagnoses, dispatch
from jitterscope.incidents.verification import visit as verification
from jitterscope.inventory.expiry import register_referrer
from jitterscope.series.pins import PinnedWindow, register_pins

# Import every cause at startup, so that the first stall is diagnosed as fast as the others.
all_causes()


@worker.app.task(name=dispatch.TASK)  # type: ignore[untyped-decorator]
def look() -> None:
    """Diagnose what is due."""
    dispatch.look_at_what_is_due()


@worker.periodic(seconds=2)
def poll() -> None:
    """Find what is due without a message: the message was lost, or a planned look is due now."""
    dispatch.look_at_what_is_due()


@worker.periodic(seconds=10)
def plan_visits() -> None:
    """Schedule looks at DNS servers, nodes, and active incidents that are not due otherwise."""
    each_organization("plan visits", diagnoses.plan_visits)


@worker.app.task(name="incidents.verify")  # type: ignore[untyped-decorator]
def verify(organization_id: int, incident_id: int) -> None:
    """Check whether an incident's workload was changed, and whether a change can be judged."""
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
    """The windows that incidents refer to are kept."""
    return retention.windows(session)


@register_referrer
def referred(session: Session) -> list[int]:
    """Resources that incidents are about are kept, however long they have been gone."""
    return retention.subjects(session)
