"""Updates existing messages, for kinds that can change them.

Separate from the outbox: it notifies nobody, and repeating it changes nothing, so no attempt needs a journal. Only the
newest state counts: states that a message missed are not shown later.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from sqlalchemy.orm import Session

from jitterscope.db import clock, organization_session
from jitterscope.notify.channels_service import ChannelUnusable, open_config
from jitterscope.notify.kind import ChannelKind, HttpResponse, Message, Verdict
from jitterscope.notify.models import ThreadRow
from jitterscope.notify.outgoing import post_of
from jitterscope.notify.payload import Payload
from jitterscope.notify.record_fate import backoff_s
from jitterscope.notify.store import threads
from jitterscope.notify.wire import PostFailed, perform

log = structlog.get_logger(__name__)
_AT_ONCE, _MOST_ATTEMPTS = 8, 6
# A worker that took a message and did not report back in this time has failed.
_LEASE = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class _Task:
    channel_id: int
    incident_id: int
    kind: ChannelKind[Any]
    config: Any
    message: Message


def refresh_due(organization_id: int) -> int:
    """Update outdated messages, a few at a time; returns how many were tried."""
    with organization_session(organization_id) as session:
        tasks = _claim(session)
    for task in tasks:
        verdict = _perform(task)
        with organization_session(organization_id) as session:
            _settle(session, task, verdict)
    return len(tasks)


def _claim(session: Session) -> list[_Task]:
    tasks = []
    for row, channel in threads.due(session, _AT_ONCE):
        row.next_attempt_at = clock() + _LEASE
        row.attempts += 1
        try:
            kind, config = open_config(channel)
        except ChannelUnusable:
            row.wanted = None
            continue
        payload = Payload.model_validate(row.wanted)
        message = Message("", payload, row.reference, int(time.time()), channel.id)
        tasks.append(_Task(channel.id, row.incident_id, kind, config, message))
    return tasks


def _perform(task: _Task) -> Verdict:
    request = None if task.kind.refresh is None else task.kind.refresh(task.config, task.message)
    if request is None:
        return Verdict("permanent", "it cannot be changed")
    try:
        status, headers, body = perform(post_of(request))
    except PostFailed as error:
        return Verdict("permanent" if error.permanent else "retry", error.detail)
    return task.kind.judge(HttpResponse(status, headers, body))


def _settle(session: Session, task: _Task, verdict: Verdict) -> None:
    row = session.get(ThreadRow, (task.channel_id, task.incident_id), with_for_update=True)
    if row is None or row.wanted is None:
        return
    if row.wanted["transition"]["id"] != task.message.payload.transition.id:
        row.next_attempt_at = clock()  # the incident changed meanwhile
        return
    if verdict.outcome == "retry" and row.attempts < _MOST_ATTEMPTS:
        wait_s = verdict.retry_after_s if verdict.retry_after_s is not None else backoff_s(row.attempts)
        row.next_attempt_at = clock() + timedelta(seconds=wait_s)
        return
    if verdict.outcome != "sent":
        log.info("message_not_changed", channel_id=row.channel_id, incident_id=row.incident_id, why=verdict.detail)
    row.wanted, row.next_attempt_at = None, clock()
