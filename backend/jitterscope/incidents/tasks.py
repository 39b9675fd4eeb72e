"""Celery tasks of incidents. Each is safe to run twice."""

from __future__ import annotations

from contextlib import suppress

import structlog
from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.cache import ValkeyError
from jitterscope.db import organization_ids
from jitterscope.diagnosis.registry import all_causes
from jitterscope.incidents import diagnoses, follow_up, pins, verify_run, waiting
from jitterscope.inventory.expiry import register_referrer
from jitterscope.series.pins import PinnedWindow, register_pins
from jitterscope.settings import Settings

log = structlog.get_logger(__name__)
# Of the process: a schedule is not changed while it runs.
VISIT_EVERY_S = Settings().scheduled_diagnosis_every_s
# Import every cause at the start: the first stall is diagnosed as fast as the others.
all_causes()


@worker.app.task(name="incidents.diagnose")  # type: ignore[untyped-decorator]
def diagnose(organization_id: int, resource_id: int, at_us: int, reason: str) -> None:
    """Diagnose what a collector's trigger points at; look again soon where that explains no harm yet."""
    with suppress(ValkeyError, OSError):  # it passes by itself
        waiting.leave(organization_id, resource_id)
    outcome = diagnoses.on_trigger(organization_id, resource_id, at_us, reason)
    with suppress(ValkeyError, OSError):
        waiting.looked(organization_id, resource_id, reason, harm=outcome is not None and outcome.harm)
    if outcome is not None and not outcome.harm:
        follow_up.begin(organization_id, outcome.subject_id)


@worker.app.task(name=follow_up.TASK)  # type: ignore[untyped-decorator]
def look_again(organization_id: int, subject_id: int) -> None:
    """Diagnose a subject with what came since its trigger, until harm is explained or some seconds have passed."""
    outcome = diagnoses.diagnose_subject(organization_id, subject_id, only_newer=True)
    if outcome is not None and outcome.harm:
        follow_up.end(organization_id, subject_id)
    else:
        follow_up.proceed(organization_id, subject_id)


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


@worker.periodic(seconds=VISIT_EVERY_S)
def diagnose_dns() -> None:
    """Visit every DNS server."""
    for organization_id in organization_ids():
        _visit(organization_id, diagnoses.dns_subjects(organization_id))


@worker.periodic(seconds=VISIT_EVERY_S)
def diagnose_nodes() -> None:
    """Visit every node: what grows slowly in its kernel, and what puts it at risk, makes no trigger."""
    for organization_id in organization_ids():
        _visit(organization_id, diagnoses.nodes(organization_id))


def _visit(organization_id: int, subjects: list[int]) -> None:
    """Diagnose subjects, spread over the time until the next round so that other work finds its turn."""
    for position, subject_id in enumerate(subjects):
        worker.app.send_task(
            "incidents.diagnose_subject",
            kwargs={"organization_id": organization_id, "subject_id": subject_id},
            countdown=position * VISIT_EVERY_S * 0.8 / len(subjects),
            expires=VISIT_EVERY_S,
            retry=False,
        )


@worker.app.task(name="incidents.verify")  # type: ignore[untyped-decorator]
def verify(organization_id: int, incident_id: int) -> None:
    """Look whether an incident's workload was changed, and whether a change can be judged."""
    verify_run.visit(organization_id, incident_id)


@worker.periodic(seconds=10)
def verify_fixes() -> None:
    """Visit every incident that is not over."""
    for organization_id in organization_ids():
        for incident_id in verify_run.due(organization_id):
            worker.app.send_task(
                "incidents.verify",
                kwargs={"organization_id": organization_id, "incident_id": incident_id},
                expires=10,
                retry=False,
            )


@register_pins
def pinned(session: Session) -> list[PinnedWindow]:
    """What incidents refer to is kept."""
    return pins.windows(session)


@register_referrer
def referred(session: Session) -> list[int]:
    """Resources that incidents are about stay, however long they are gone."""
    return pins.subjects(session)
