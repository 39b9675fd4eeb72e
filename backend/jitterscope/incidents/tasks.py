"""Celery tasks of incidents. Each is safe to run twice."""

from __future__ import annotations

import structlog
from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.db import organization_ids
from jitterscope.diagnosis.registry import all_causes
from jitterscope.incidents import diagnoses, pins
from jitterscope.series.pins import PinnedWindow, register_pins

log = structlog.get_logger(__name__)
# Import every cause (and scipy with them) before workers fork: the first stall is diagnosed as fast as the others.
all_causes()


@worker.app.task(name="incidents.diagnose")  # type: ignore[untyped-decorator]
def diagnose(organization_id: int, resource_id: int, at_us: int, reason: str) -> None:
    """Diagnose what a collector's trigger points at."""
    diagnoses.on_trigger(organization_id, resource_id, at_us, reason)


@worker.app.task(name="incidents.diagnose_subject")  # type: ignore[untyped-decorator]
def diagnose_subject(organization_id: int, subject_id: int) -> None:
    """Diagnose a subject again, if there are newer data than last time."""
    diagnoses.diagnose_subject(organization_id, subject_id, only_newer=True)


@worker.periodic(seconds=10)
def rediagnose() -> None:
    """Visit subjects with an active incident or a recent trigger: what catches lost triggers and resolves incidents."""
    for organization_id in organization_ids():
        for subject_id in diagnoses.due_subjects(organization_id):
            # One that could not start before the next round is dropped, so that a slow worker does not pile them up.
            worker.app.send_task(
                "incidents.diagnose_subject",
                kwargs={"organization_id": organization_id, "subject_id": subject_id},
                expires=10,
                retry=False,
            )


@register_pins
def pinned(session: Session) -> list[PinnedWindow]:
    """What incidents refer to is kept."""
    return pins.windows(session)
