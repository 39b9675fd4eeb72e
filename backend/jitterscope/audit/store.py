"""The audit trail in the database."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from jitterscope.audit.models import AuditEntry


def entries(session: Session, organization_id: int, before_id: int | None, limit: int) -> list[AuditEntry]:
    """The newest entries first, older than `before_id` if given."""
    query = select(AuditEntry).where(AuditEntry.organization_id == organization_id)
    if before_id is not None:
        query = query.where(AuditEntry.id < before_id)
    return list(session.scalars(query.order_by(AuditEntry.id.desc()).limit(limit)))
