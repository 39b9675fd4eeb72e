"""Periodic work on stored series. Every task can be repeated, killed, and run twice at once."""

from __future__ import annotations

import time

import structlog

from jitterscope import cache, db
from jitterscope.cache import ValkeyError
from jitterscope.series import compaction, distribution_compaction, external, partitions, retention, rollups
from jitterscope.series.store import external as stored_external
from jitterscope.series.store import rollups as stored_rollups
from jitterscope.tenancy import limits
from jitterscope.worker import periodic

log = structlog.get_logger(__name__)
_HOUR_US = 3_600_000_000
# Spans of the last two days are checked again: late data can still add short rows to them.
_MERGE_BACK_US = 48 * _HOUR_US
_MERGE_GRACE_US = _HOUR_US // 4


def _now_us() -> int:
    return time.time_ns() // 1000


@periodic(seconds=30)
def compact() -> None:
    """Compact landing blocks of closed windows to segments and rollups, and short histogram rows to long ones."""
    db.each_organization("compact", compact_organization)


def compact_organization(organization_id: int) -> None:
    """Compact one organization's data."""
    windows = histograms = 0
    with db.isolated("compact windows", organization=organization_id):
        windows = compaction.compact(organization_id, _now_us())
    with db.isolated("compact histograms", organization=organization_id):
        histograms = distribution_compaction.compact(organization_id, _now_us())
    if windows or histograms:
        log.info("compacted", organization=organization_id, windows=windows, histogram_rows=histograms)


@periodic(seconds=900)
def compact_external() -> None:
    """Merge short rows of remote-written series to one per hour."""
    db.each_organization("compact external", lambda organization_id: external.compact(organization_id, _now_us()))


@periodic(seconds=900)
def merge_rollups() -> None:
    """Merge rollup rows of closed hours and days to one row each, and histograms that came late."""
    db.each_organization("merge rollups", lambda organization_id: merge_closed(organization_id, _now_us()))


def merge_closed(organization_id: int, now_us: int, back_us: int = _MERGE_BACK_US) -> None:
    """Merge the rollup rows of every closed row span that began in the last `back_us`, and short histogram rows."""
    with db.isolated("compact late histograms", organization=organization_id):
        distribution_compaction.compact(organization_id, now_us, back_us)
    for level in rollups.LEVELS:
        closed_us = (now_us - _MERGE_GRACE_US) // level.row_us * level.row_us
        first_us = (now_us - back_us) // level.row_us * level.row_us
        for from_us in range(first_us, closed_us, level.row_us):
            with db.organization_session(organization_id) as session:
                # Two workers on one span would each write all of it.
                if stored_rollups.try_lock(session, level.table, organization_id, from_us):
                    rollups.merge_rows(session, organization_id, level, from_us)


@periodic(seconds=3600)
def expire() -> None:
    """Delete data past each organization's retention, then drop the partitions that are empty."""
    now_us = _now_us()

    def of(organization_id: int) -> None:
        deleted = retention.expire(organization_id, now_us)
        if deleted:
            log.info("expired", organization=organization_id, **deleted)
        with db.organization_session(organization_id) as session:
            series = stored_external.count(session)
        try:
            limits.set_stored(organization_id, "external_series", series)
        except ValkeyError as error:
            cache.failed(error)

    db.each_organization("expire", of)
    dropped = retention.drop_empty_partitions(now_us)
    if dropped:
        log.info("partitions_dropped", count=dropped)


@periodic(seconds=3600)
def make_partitions() -> None:
    """Create the partitions of the next days, so that no batch has to."""
    now_us = _now_us()
    partitions.ensure(now_us, now_us + 3 * partitions.DAY_US)
