"""Stores a valid batch in one transaction, once, however often it is sent."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import psycopg.errors
import structlog
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.captures import service as captures
from jitterscope.events.publish import publish
from jitterscope.incidents.scheduling import dispatch
from jitterscope.incidents.scheduling.dispatch import Trigger
from jitterscope.ingest import store as ledger
from jitterscope.ingest.batch import ValidBatch
from jitterscope.ingest.body import malformed
from jitterscope.inventory import collectors, facts, resolve
from jitterscope.series import landing, partitions
from jitterscope.series.ids import series_id, series_ids
from jitterscope.series.layouts import DuplicateSeries

log = structlog.get_logger(__name__)
_ATTEMPTS = 4


def store(organization_id: int, batch: ValidBatch) -> bool:
    """Whether the batch is new, not stored before. Raises Problem for a series named twice."""
    for attempt in range(1, _ATTEMPTS + 1):
        if batch.first_us is not None and batch.last_us is not None:
            partitions.ensure(batch.first_us, batch.last_us)
        try:
            with db.organization_session(organization_id) as session:
                return _store(session, organization_id, batch)
        except DuplicateSeries:
            raise malformed("a series block names a series twice") from None
        except (DBAPIError, psycopg.Error) as error:
            if attempt == _ATTEMPTS or not _retriable(error):
                raise
            log.info("batch_retried", attempt=attempt, error=str(error)[:200])
            time.sleep(0.02 * attempt)
    raise AssertionError  # the loop returns or raises


def _retriable(error: Exception) -> bool:
    """True for deadlocks between batches, and for a partition that retention dropped after this process had seen it."""
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, psycopg.errors.CheckViolation) and "no partition" in str(cause):
        partitions.forget()
        return True
    return isinstance(cause, psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure)


def _store(session: Session, organization_id: int, batch: ValidBatch) -> bool:
    if not ledger.add_batch(session, organization_id, batch.spool_id, batch.sequence, batch.sealed_at_us):
        return False
    seen_at = datetime.fromtimestamp(batch.sealed_at_us / 1e6, UTC)
    ids = resolve.resolve(session, organization_id, batch.resources, seen_at)
    node_id = int(ids[0])
    landing.store_blocks(
        session,
        organization_id,
        node_id,
        [
            landing.LandingBlock(
                block.start_us, block.step_us, block.tick_count, block.encoding,
                series_ids(ids[block.resource], block.metric), block.payload,
            )
            for block in batch.blocks
        ],
    )  # fmt: skip
    _store_rest(session, organization_id, batch, ids.tolist())
    observed = [
        facts.Observation(int(ids[one.resource]), one.name, one.value, one.observed_at_us) for one in batch.facts
    ]
    collectors.store_sources(session, organization_id, node_id, batch.sources)
    change = collectors.seen(
        session,
        organization_id,
        node_id,
        version=batch.collector_version,
        spool_id=batch.spool_id,
        sealed_at_us=batch.sealed_at_us,
        delay_us=time.time_ns() // 1000 - batch.sealed_at_us,
        dropped_batches=batch.dropped_batches,
        facts_changed=facts.store(session, organization_id, observed),
    )
    if change == "first":
        # Whoever installs a collector is looking at the page that waits for this.
        db.after_commit(session, lambda: publish(organization_id, "first_data", node_id))
    elif change == "back":
        db.after_commit(session, lambda: publish(organization_id, "collector", node_id, state="receiving"))
    wanted = _triggers(batch, ids.tolist())
    resolve.mark_throttled(session, {one.resource_id: one.at_us for one in wanted if one.reason == "throttled"})
    dispatch.triggered(session, wanted)
    return True


def _store_rest(session: Session, organization_id: int, batch: ValidBatch, ids: list[int]) -> None:
    landing.store_histograms(
        session,
        organization_id,
        [
            landing.LandingHistogram(
                series_id(ids[h.resource], h.metric), h.start_us, h.step_us, h.tick_count, h.entries, h.buckets,
                h.counts,
            )
            for h in batch.histograms
        ],
    )  # fmt: skip
    landing.store_events(
        session,
        organization_id,
        [landing.LandingEvent(ids[e.resource], e.kind, e.start_us, e.duration_us, e.attributes) for e in batch.events],
    )
    landing.store_queries(
        session,
        organization_id,
        [
            landing.LandingQueries(
                ids[q.server], q.start_us, q.end_us, q.complete, q.offsets_us, q.latencies_us, q.results,
                q.name_indices, q.client_indices, q.queue_waits_us, q.names, q.clients,
            )
            for q in batch.queries
        ],
    )  # fmt: skip
    captures.store(
        session,
        organization_id,
        [
            captures.NewCapture(
                ids[c.resource], c.reason, c.start_us, c.end_us, c.rate_hz, c.samples, c.processes, c.cpus,
                c.lost_samples, c.payload,
            )
            for c in batch.captures
        ],
    )  # fmt: skip


def _triggers(batch: ValidBatch, ids: list[int]) -> list[Trigger]:
    return [Trigger(ids[one.resource], one.reason, one.at_us) for one in batch.triggers]
