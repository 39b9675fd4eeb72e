"""Celery tasks of analyses. Each is safe to run twice."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog

from jitterscope import worker
from jitterscope.analyses import folder, run, service, store
from jitterscope.db import each_organization, organization_ids, organization_session

log = structlog.get_logger(__name__)

_DAY_S = 86_400.0
# A file without a row may belong to an upload whose transaction is about to commit.
_ORPHAN_S = 3600.0


@worker.app.task(name=service.TASK)  # type: ignore[untyped-decorator]
def analyse(organization_id: int, analysis_id: int) -> None:
    """Read one uploaded file."""
    run.run(organization_id, analysis_id)


@worker.periodic(seconds=5)
def visit() -> None:
    """Requeue what waits, in turns: its message was lost, its worker died, or no worker had a free place."""
    for organization_id, analysis_id in run.turns(organization_ids()):
        worker.app.send_task(
            service.TASK,
            kwargs={"organization_id": organization_id, "analysis_id": analysis_id},
            expires=5,
            retry=False,
        )


@worker.periodic(seconds=600)
def expire_files() -> None:
    """Delete expired files, and the remains of interrupted uploads. Results stay."""
    folder.sweep_incoming(_DAY_S)
    each_organization("expire files", lambda organization_id: expire(organization_id, datetime.now(UTC)))


def expire(organization_id: int, now: datetime) -> int:
    """Delete the files of one organization that are due; returns how many."""
    with organization_session(organization_id) as session:
        due = store.with_expired_file(session, now)
        for row in due:
            folder.remove(organization_id, row.id)
            row.file_kept = False
        known = store.with_file(session)
    orphans = [id for id, age_s in folder.stored(organization_id) if id not in known and age_s > _ORPHAN_S]
    for id in orphans:
        folder.remove(organization_id, id)
    return len(due) + len(orphans)
