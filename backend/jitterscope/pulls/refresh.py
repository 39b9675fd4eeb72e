"""The outcome of pull requests: their state at the host, and the verdict as a comment once there is one.

Each check takes one request. Its frequency depends on the age, and a host that asks for a delay gets it: the next check
is due at `next_check_at`, whatever happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog

from jitterscope.audit import service as audit
from jitterscope.db import isolated, organization_session
from jitterscope.errors import Problem
from jitterscope.pulls import news, repositories, store
from jitterscope.pulls.hosts.host import Host, HostFailed, Status
from jitterscope.pulls.models import PullRequestRow, RepositoryRow
from jitterscope.pulls.news import News
from jitterscope.pulls.talking import answers_of

log = structlog.get_logger(__name__)

# Per organization and visit: how many checks, and how long. The rest is due at the next visit.
_MOST, _MOST_S = 20, 20.0
# The age of a pull request, and how often its state is checked at that age.
_OFTEN = (
    (timedelta(hours=1), timedelta(minutes=1)),
    (timedelta(days=1), timedelta(minutes=5)),
    (timedelta(days=30), timedelta(minutes=30)),
)
_SELDOM = timedelta(hours=12)
_AFTER_FAILURE, _LONGEST = timedelta(minutes=5), timedelta(hours=12)
_MOST_ATTEMPTS = 12


def visit(organization_id: int) -> int:
    """Check what is due in an organization; returns how many were checked."""
    ends, done = time.monotonic() + _MOST_S, 0
    with organization_session(organization_id) as session:
        due = store.due(session, _MOST)
    for pull_request_id in due:
        if time.monotonic() > ends:
            break
        with isolated("pull request", organization=organization_id, pull_request=pull_request_id):
            _look(organization_id, pull_request_id)
        done += 1
    return done


def _look(organization_id: int, pull_request_id: int) -> None:
    with organization_session(organization_id) as session:
        row = session.get(PullRequestRow, pull_request_id, with_for_update=True)
        if row is None or row.state not in ("open", "merged") or row.next_check_at > datetime.now(UTC):
            return  # another worker was here
        repository = session.get(RepositoryRow, row.repository_id) if row.repository_id is not None else None
        if repository is None or row.number is None:
            return
        # If the worker dies now, the next check is postponed.
        row.next_check_at = datetime.now(UTC) + _AFTER_FAILURE
        told = news.of(session, row) if row.comment_attempts < _MOST_ATTEMPTS else None
        if told is not None:
            row.comment_attempts += 1
        elif row.state == "merged":
            row.next_check_at = _next(row)
            return
        try:
            host = repositories.host_of(repository)
        except Problem as error:
            row.last_error = error.detail
            return
    status = _asked(organization_id, row, lambda: host.status(_number(row))) if row.state == "open" else None
    if row.state == "open" and status is None:
        return
    if status is not None:
        _note(organization_id, row.id, status)
    if told is not None and (status is None or status.state != "closed"):
        _tell(organization_id, row, host, told)


def _asked(organization_id: int, row: PullRequestRow, ask: Callable[[], Status]) -> Status | None:
    try:
        with answers_of(repositories.kind_of_name(row.kind)):
            return ask()
    except HostFailed as error:
        _failed(organization_id, row.id, error)
        return None


def _tell(organization_id: int, row: PullRequestRow, host: Host, told: News) -> None:
    try:
        with answers_of(repositories.kind_of_name(row.kind)):
            # An earlier attempt may have arrived although its answer did not.
            url = host.find_comment(_number(row), told.marker) if row.comment_attempts > 1 else None
            if url is None:
                url = host.comment(_number(row), told.text)
    except HostFailed as error:
        _failed(organization_id, row.id, error)
        return
    with organization_session(organization_id) as session:
        stored = session.get(PullRequestRow, row.id, with_for_update=True)
        if stored is None:
            return
        if told.verification_id is None:
            stored.reminded_at = datetime.now(UTC)
        else:
            stored.told_verification_id, stored.comment_url = told.verification_id, url
        stored.comment_attempts, stored.last_error, stored.next_check_at = 0, None, _next(stored)
        audit.record_system(session, "pull_request.comment", f"pull request {row.id}", {**told.detail, "url": url})


def _note(organization_id: int, pull_request_id: int, status: Status) -> None:
    with organization_session(organization_id) as session:
        row = session.get(PullRequestRow, pull_request_id, with_for_update=True)
        if row is None:
            return
        row.state, row.merged_at = status.state, status.merged_at or row.merged_at
        row.checked_at, row.last_error = datetime.now(UTC), None
        row.next_check_at = _next(row)


def _failed(organization_id: int, pull_request_id: int, error: HostFailed) -> None:
    with organization_session(organization_id) as session:
        row = session.get(PullRequestRow, pull_request_id, with_for_update=True)
        if row is None:
            return
        row.last_error = error.detail[:500]
        # The wait doubles with each failure in a row: it is the time since the last answer.
        since = datetime.now(UTC) - (row.checked_at or row.opened_at)
        wait = max(_AFTER_FAILURE, min(since, _LONGEST))
        if error.retry_after_s is not None:
            wait = max(wait, timedelta(seconds=error.retry_after_s))
        row.next_check_at = datetime.now(UTC) + wait
    log.info("pull_request_not_read", pull_request=pull_request_id, reason=error.reason)


def _next(row: PullRequestRow) -> datetime:
    now = datetime.now(UTC)
    # A merged one waits for its verdict, which is looked up only here.
    age = now - (row.merged_at or row.opened_at)
    if row.state == "merged":
        return now + (timedelta(minutes=1) if age < timedelta(days=2) else _SELDOM)
    return now + next((every for until, every in _OFTEN if age < until), _SELDOM)


def _number(row: PullRequestRow) -> int:
    assert row.number is not None
    return row.number
