"""Writes the outcome of an attempt to the outbox. Repeating it, or doing it late, changes nothing."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import structlog

from jitterscope.db import organization_session
from jitterscope.notify import journal
from jitterscope.notify.kind import HttpResponse, Verdict, kinds
from jitterscope.notify.store import channels, deliveries, threads
from jitterscope.settings import settings

log = structlog.get_logger(__name__)


def settle(
    organization_id: int, delivery_id: int, number: int, record: journal.Record, verdict: Verdict | None = None
) -> None:
    """Advance a `sending` delivery by the outcome of its attempt `number`. `verdict` overrules the record."""
    with organization_session(organization_id) as session:
        row = deliveries.locked(session, delivery_id)
        if row is None or row.state != "sending" or row.attempts != number:
            return
        kind = channels.kind_of(session, row.channel_id)
        verdict = verdict or _verdict(kind or "", record)
        now = datetime.now(UTC)
        row.journal_id = None
        row.last_status = record.status or None
        row.last_error = verdict.detail
        row.maybe_sent = row.maybe_sent or record.fate == "unknown"
        if verdict.outcome == "sent":
            row.state, row.sent_at = "sent", now
            if verdict.thread is not None:
                # If the incident changed while its first message was sent, that is outdated already.
                wanted = deliveries.newest_payload_after(session, row)
                threads.add(session, organization_id, row, verdict.thread, wanted)
        elif verdict.outcome == "permanent" or number >= settings().notify_max_attempts:
            row.state = "dead"
            log.warning("notification_dead", delivery_id=delivery_id, attempts=number, error=verdict.detail)
        else:
            row.state = "pending"
            wait_s = verdict.retry_after_s if verdict.retry_after_s is not None else backoff_s(number)
            row.next_attempt_at = now + timedelta(seconds=wait_s)


def backoff_s(attempts: int) -> float:
    """Seconds until the next try after `attempts` failures: 5 s doubling to 15 min, ±50 % to spread the retries."""
    return min(5.0 * 2.0 ** (attempts - 1), 900.0) * random.SystemRandom().uniform(0.5, 1.5)


def _verdict(kind: str, record: journal.Record) -> Verdict:
    if record.fate == "answered":
        response = HttpResponse(record.status, record.headers or {}, record.body)
        return kinds()[kind].judge(response) if kind in kinds() else Verdict("permanent", f"no channel kind {kind}")
    if record.fate == "not_sent" and record.detail is None:
        return Verdict("retry", "the worker exited before anything was sent", retry_after_s=0.0)
    return Verdict("permanent" if record.permanent else "retry", record.detail)
