"""Analyses in the database."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, and_, func, or_, select, text, update
from sqlalchemy.orm import Session, undefer

from jitterscope.analyses.models import AnalysisRow


def waiting(session: Session, stale_s: float, limit: int) -> list[int]:
    """Analyses without a worker, oldest first."""
    return list(session.scalars(select(AnalysisRow.id).where(_free(stale_s)).order_by(AnalysisRow.id).limit(limit)))


def count_running(session: Session, stale_s: float) -> int:
    """How many analyses have a worker."""
    query = select(func.count()).select_from(AnalysisRow).where(AnalysisRow.state == "running", ~_free(stale_s))
    return session.scalar(query) or 0


def lock_running(session: Session, organization_id: int) -> None:
    """Wait until no other worker takes an analysis of the organization; held until the end of the transaction."""
    session.execute(
        text("SELECT pg_advisory_xact_lock(hashtextextended('analyses run', :id))"), {"id": organization_id}
    )


def free(session: Session, analysis_id: int, stale_s: float) -> AnalysisRow | None:
    """The analysis, locked; None if it has a worker, or another is taking it."""
    query = select(AnalysisRow).where(AnalysisRow.id == analysis_id, _free(stale_s))
    return session.scalar(query.with_for_update(skip_locked=True))


def beat(session: Session, analysis_id: int, attempt: int, ratio: float) -> bool:
    """Renew a claim and note the progress; False if the attempt no longer has it."""
    mine = session.execute(
        update(AnalysisRow)
        .where(AnalysisRow.id == analysis_id, AnalysisRow.state == "running", AnalysisRow.attempts == attempt)
        .values(heartbeat_at=datetime.now(UTC), progress_ratio=ratio)
    )
    return bool(mine.rowcount)  # type: ignore[attr-defined]


def running(session: Session, analysis_id: int, attempt: int) -> AnalysisRow | None:
    """The analysis, locked, if this attempt still has it."""
    query = select(AnalysisRow).where(
        AnalysisRow.id == analysis_id, AnalysisRow.state == "running", AnalysisRow.attempts == attempt
    )
    return session.scalar(query.with_for_update())


def _free(stale_s: float) -> ColumnElement[bool]:
    stale = datetime.now(UTC) - timedelta(seconds=stale_s)
    return or_(AnalysisRow.state == "queued", and_(AnalysisRow.state == "running", AnalysisRow.heartbeat_at < stale))


def lock_space(session: Session, organization_id: int) -> None:
    """Wait until no other upload of the organization claims space; held until the end of the transaction."""
    session.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('analyses', :id))"), {"id": organization_id})


def kept_bytes(session: Session) -> int:
    """Size of all files that the organization keeps."""
    kept = session.scalar(select(func.coalesce(func.sum(AnalysisRow.size_bytes), 0)).where(AnalysisRow.file_kept))
    return int(kept or 0)


def newest(session: Session, before_id: int | None, limit: int) -> list[AnalysisRow]:
    """Newest first, without their reports."""
    query = select(AnalysisRow).order_by(AnalysisRow.id.desc()).limit(limit)
    return list(session.scalars(query if before_id is None else query.where(AnalysisRow.id < before_id)))


def with_report(session: Session, analysis_id: int) -> AnalysisRow | None:
    """One analysis with its report."""
    return session.scalar(select(AnalysisRow).where(AnalysisRow.id == analysis_id).options(undefer(AnalysisRow.report)))


def with_expired_file(session: Session, now: datetime) -> Sequence[AnalysisRow]:
    """Finished analyses whose file is due to be deleted."""
    return session.scalars(
        select(AnalysisRow).where(
            AnalysisRow.file_kept, AnalysisRow.file_expires_at <= now, AnalysisRow.finished_at.is_not(None)
        )
    ).all()


def with_file(session: Session) -> set[int]:
    """Analyses whose file is kept."""
    return set(session.scalars(select(AnalysisRow.id).where(AnalysisRow.file_kept)))
