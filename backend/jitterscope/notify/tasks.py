"""Celery tasks of notifications. Each is safe to run twice and at the same time."""

from __future__ import annotations

from sqlalchemy import exists, func, or_, select

from jitterscope import worker
from jitterscope.db import organization_ids, organization_session
from jitterscope.notify import journal
from jitterscope.notify.delivery import deliver_due, journal_folder
from jitterscope.notify.models import DeliveryRow


@worker.app.task(name="notify.deliver")  # type: ignore[untyped-decorator]
def deliver(organization_id: int) -> None:
    """Send what is due in an organization, unless another worker of this host is at it."""
    with journal.alone(journal_folder(), f"deliver-{organization_id}") as alone:
        if alone:
            deliver_due(organization_id)


@worker.periodic(seconds=5)
def sweep() -> None:
    """Find what is due: retries, and rows whose message was lost with a broker or a worker."""
    for organization_id in organization_ids():
        with organization_session(organization_id) as session:
            due = session.scalar(
                select(
                    exists().where(
                        or_(
                            DeliveryRow.state == "sending",
                            (DeliveryRow.state == "pending") & (DeliveryRow.next_attempt_at <= func.clock_timestamp()),
                        )
                    )
                )
            )
        if due:
            worker.app.send_task("notify.deliver", kwargs={"organization_id": organization_id}, expires=5, retry=False)
