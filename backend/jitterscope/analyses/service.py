"""Analyses of an organization: create, list, delete."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope import worker
from jitterscope.analyses import folder, store
from jitterscope.analyses.models import AnalysisRow
from jitterscope.analyses.report import Report
from jitterscope.analyses.upload import Upload, evidence_full
from jitterscope.audit import service as audit
from jitterscope.db import after_commit
from jitterscope.errors import not_found
from jitterscope.events.publish import publish
from jitterscope.settings import settings
from jitterscope.tenancy.principal import Principal

TASK = "analyses.run"


def add_file(session: Session, principal: Principal, upload: Upload) -> AnalysisRow:
    """Keep an upload and queue its analysis. Raises Problem 413 if the organization already keeps too much."""
    # Two concurrent uploads must not both claim the same space.
    store.lock_space(session, principal.organization_id)
    if upload.size_bytes > settings().evidence_max_kept_bytes - store.kept_bytes(session):
        raise evidence_full()
    now = datetime.now(UTC)
    row = AnalysisRow(
        organization_id=principal.organization_id,
        state="queued",
        name=upload.name,
        size_bytes=upload.size_bytes,
        file_kept=True,
        file_expires_at=now + timedelta(seconds=settings().evidence_keep_s),
        created_by=principal.actor,
    )
    session.add(row)
    session.flush()
    folder.keep(upload.path, principal.organization_id, row.id)
    audit.record(session, principal, "analysis.create", f"analysis {row.id}", {"bytes": upload.size_bytes})
    organization_id, id = principal.organization_id, row.id
    # If the broker is down, nothing is lost: `analyses.visit` finds queued analyses.
    after_commit(session, lambda: publish(organization_id, "analysis", id, state="queued"))
    after_commit(session, lambda: worker.send(TASK, organization_id=organization_id, analysis_id=id))
    return row


def add_report(session: Session, principal: Principal, name: str, size_bytes: int, report: Report) -> AnalysisRow:
    """Keep a report that needs no file, such as that of a load test."""
    now = datetime.now(UTC)
    row = AnalysisRow(
        organization_id=principal.organization_id, state="done", kind=report.kind, kind_title=report.title, name=name,
        size_bytes=size_bytes, file_kept=False, progress_ratio=1.0, created_by=principal.actor, started_at=now,
        finished_at=now, summary=report.summary, report=report.model_dump(mode="json"),
    )  # fmt: skip
    session.add(row)
    session.flush()
    audit.record(session, principal, "analysis.create", f"analysis {row.id}", {"kind": report.kind})
    organization_id, id = principal.organization_id, row.id
    after_commit(session, lambda: publish(organization_id, "analysis", id, state="done"))
    return row


def get(session: Session, analysis_id: int) -> AnalysisRow:
    """One analysis with its report. Raises Problem 404."""
    row = store.with_report(session, analysis_id)
    if row is None:
        raise not_found("analysis", analysis_id)
    return row


def delete(session: Session, principal: Principal, analysis_id: int) -> None:
    """Remove an analysis and its file. A running one ends at its next heartbeat. Raises Problem 404."""
    row = get(session, analysis_id)
    session.delete(row)
    audit.record(session, principal, "analysis.delete", f"analysis {analysis_id}", {"name": row.name})
    organization_id = principal.organization_id
    after_commit(session, lambda: folder.remove(organization_id, analysis_id))
    after_commit(session, lambda: publish(organization_id, "analysis", analysis_id, state="deleted"))
