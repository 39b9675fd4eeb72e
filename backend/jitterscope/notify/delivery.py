"""Delivery from the outbox: claim in the database, carry in a separate process, settle from the journal.

Killing the worker at any moment neither repeats nor loses a notification: before the claim is committed, nothing was
sent; after it, the courier finishes alone and the journal informs the next worker. See docs/decisions/0010 for what
remains when the courier's machine dies too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from sqlalchemy.orm import Session

from jitterscope.db import organization_session
from jitterscope.notify import courier, journal
from jitterscope.notify.channels_service import ChannelUnusable, open_config
from jitterscope.notify.held_back import hold_back
from jitterscope.notify.kind import ChannelKind, HttpResponse, Message, Verdict
from jitterscope.notify.models import ChannelRow, DeliveryRow, ThreadRow
from jitterscope.notify.outgoing import outgoing, post_of
from jitterscope.notify.payload import Payload
from jitterscope.notify.record_fate import settle
from jitterscope.notify.refresh import refresh_due
from jitterscope.notify.store import deliveries
from jitterscope.notify.wire import PostFailed, perform
from jitterscope.settings import settings

log = structlog.get_logger(__name__)
BATCH = 8
# Messages held back in one transaction.
_MOST_HELD_BACK = 400
# The outcome of another host's attempt is unknown after this long without news.
LEASE = timedelta(seconds=120)
_COURIER = Path(courier.__file__)


@dataclass(slots=True)
class Attempt:
    """A claimed delivery in progress. `descriptor` is the locked journal file, -1 once the courier has it."""

    delivery_id: int
    number: int
    name: str
    descriptor: int
    kind: ChannelKind[Any]
    config: Any
    message: Message
    maybe_sent: bool
    first_tried_s: int
    process: subprocess.Popen[bytes] | None = None


def journal_folder() -> Path:
    """The folder where this host records the outcomes of its attempts."""
    return settings().state_dir / "outbox"


def deliver_due(organization_id: int, budget_s: float = 20.0) -> int:
    """Settle what earlier workers left and send what is due; returns the number of attempts.

    No new attempt begins after `budget_s`: receivers that do not answer must not keep a worker from diagnosing.
    """
    recover(organization_id)
    made, ends = 0, time.monotonic() + budget_s
    while time.monotonic() < ends and (attempts := claim(organization_id)):
        for attempt in attempts:
            start(organization_id, attempt)
        for attempt in attempts:
            finish(organization_id, attempt)
        made += len(attempts)
    refresh_due(organization_id)
    return made


def recover(organization_id: int) -> None:
    """Read the journal for every delivery that is `sending` without a running courier."""
    folder = journal_folder()
    ours = journal.journal_id(folder)
    with organization_session(organization_id) as session:
        rows = deliveries.sending(session)
    for delivery_id, number, key, journal_id, claimed_at in rows:
        name = f"{key}.{number}"
        if journal_id != ours:
            if claimed_at is None or datetime.now(UTC) - claimed_at > LEASE:
                record = journal.Record("unknown", detail=f"host {journal_id} left no record")
                settle(organization_id, delivery_id, number, record)
            continue
        record = journal.read(folder, name)
        if record.fate == "under_way":
            continue
        if record.fate == "missing":
            # Settled a moment ago by another worker, or the file was lost in a power failure of the machine.
            record = journal.Record("unknown", detail="the journal has no trace of the attempt")
        settle(organization_id, delivery_id, number, record)
        journal.remove(folder, name)


def claim(organization_id: int) -> list[Attempt]:
    """Take due deliveries, oldest first, at most one per incident and channel. Committed on return."""
    folder = journal_folder()
    ours = journal.journal_id(folder)
    attempts: list[Attempt] = []
    try:
        with organization_session(organization_id) as session:
            for row, channel in _due_and_allowed(session):
                attempt = _prepare(session, folder, row, channel)
                if attempt is None:
                    continue
                attempts.append(attempt)
                row.state, row.attempts = "sending", attempt.number
                row.journal_id, row.claimed_at = ours, datetime.now(UTC)
    except BaseException:
        # Uncommitted, or committed without our knowing: the unlocked, empty files show that nothing was sent.
        for attempt in attempts:
            os.close(attempt.descriptor)
        raise
    return attempts


def _due_and_allowed(session: Session) -> list[tuple[DeliveryRow, ChannelRow]]:
    for _ in range(_MOST_HELD_BACK // BATCH):
        due = deliveries.due(session, BATCH)
        allowed = [(row, channel) for row, channel in due if not hold_back(session, row, channel)]
        if allowed or not due:
            return allowed
    return []


def _prepare(session: Session, folder: Path, row: DeliveryRow, channel: ChannelRow) -> Attempt | None:
    number = row.attempts + 1
    name = f"{row.key}.{number}"
    # Left by a claim that was rolled back; the row's lock keeps other workers out.
    if journal.read(folder, name).fate == "under_way":
        return None
    journal.remove(folder, name)
    try:
        kind, config = open_config(channel)
    except ChannelUnusable as error:
        row.state, row.last_error = "dead", str(error)
        return None
    thread = session.get(ThreadRow, (channel.id, row.incident_id))
    return Attempt(
        delivery_id=row.id,
        number=number,
        name=name,
        descriptor=journal.create(folder, name),
        kind=kind,
        config=config,
        message=Message(
            key=row.key,
            payload=Payload.model_validate(row.payload),
            thread=None if thread is None else thread.reference,
            now_s=int(time.time()),
            channel_id=channel.id,
            held_back=row.held_back or 0,
        ),
        maybe_sent=row.maybe_sent,
        first_tried_s=int((row.claimed_at or row.created_at).timestamp()),
    )


def start(organization_id: int, attempt: Attempt) -> None:
    """Hand a claimed delivery to a courier, unless the receiver already has it."""
    if attempt.maybe_sent and (verdict := ask_receiver(attempt)) is not None and verdict.outcome == "sent":
        os.close(attempt.descriptor)
        settle(organization_id, attempt.delivery_id, attempt.number, journal.Record("answered"), verdict)
        journal.remove(journal_folder(), attempt.name)
        return
    try:
        sent = outgoing(attempt.kind.build(attempt.config, attempt.message))
        attempt.process = subprocess.Popen(  # noqa: S603 (our own interpreter and script, no shell)
            [sys.executable, "-S", str(_COURIER), str(attempt.descriptor)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(attempt.descriptor,),
            start_new_session=True,  # signals to the worker's process group do not reach it
            cwd="/",
            env={name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SSL_CERT_FILE")},
        )
        assert attempt.process.stdin is not None
        with attempt.process.stdin as pipe:
            pipe.write(courier.encode(sent))
    except (OSError, ValueError) as error:
        log.error("courier_not_started", delivery_id=attempt.delivery_id, error=str(error)[:300])
    finally:
        os.close(attempt.descriptor)  # the courier has its own; the lock now lasts as long as the courier


def finish(organization_id: int, attempt: Attempt) -> None:
    """Wait for the courier and write its result to the database."""
    folder = journal_folder()
    if attempt.process is not None:
        try:
            attempt.process.wait(settings().notify_timeout_s + 15)
        except subprocess.TimeoutExpired:
            attempt.process.kill()  # stuck in name resolution; the journal shows how far it got
            attempt.process.wait()
    record = journal.read(folder, attempt.name)
    if record.fate in ("under_way", "missing"):
        return  # settled in `start`, or by another worker's `recover`
    settle(organization_id, attempt.delivery_id, attempt.number, record)
    journal.remove(folder, attempt.name)


def ask_receiver(attempt: Attempt) -> Verdict | None:
    """Whether a delivery of unknown outcome arrived; None if the receiver cannot be asked."""
    if attempt.kind.find_sent is None or attempt.kind.was_sent is None:
        return None
    request = attempt.kind.find_sent(attempt.config, attempt.message, attempt.first_tried_s)
    if request is None:
        return None
    try:
        status, headers, body = perform(post_of(request))
    except PostFailed as error:
        log.info("receiver_not_asked", delivery_id=attempt.delivery_id, error=error.detail)
        return None
    return attempt.kind.was_sent(attempt.config, HttpResponse(status, headers, body), attempt.message.key)
