"""Periodic work on changes. It can be repeated, killed, and run twice at once."""

from __future__ import annotations

from datetime import UTC, datetime

import structlog

from jitterscope import db
from jitterscope.changes import reports, store
from jitterscope.worker import periodic

log = structlog.get_logger(__name__)


@periodic(seconds=3600)
def drop_old() -> None:
    """Delete old reports."""
    db.each_organization("drop old changes", drop_old_of)


def drop_old_of(organization_id: int) -> None:
    """As `drop_old`, for one organization."""
    with db.organization_session(organization_id) as session:
        dropped = store.drop_before(session, datetime.now(UTC) - reports.KEPT)
    if dropped:
        log.info("changes_dropped", organization=organization_id, count=dropped)
