"""Takes due diagnoses from the schedule, fairly between organizations, and wakes workers.

The table is the source of truth. A message only says "look now", so that nothing waits for the next poll: one that is
lost with the broker, or that arrives twice, changes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from kombu.exceptions import OperationalError as BrokerError
from sqlalchemy.orm import Session

from jitterscope import cache, outages
from jitterscope.cache import ValkeyError
from jitterscope.db import (
    FAILED,
    after_commit,
    enter_organization,
    organization_session,
    system_session,
    task_allowance,
)
from jitterscope.incidents.scheduling import diagnoses, plan
from jitterscope.incidents.scheduling import store as schedule
from jitterscope.incidents.scheduling.diagnoses import Outcome
from jitterscope.incidents.scheduling.plan import Entry
from jitterscope.incidents.scheduling.store import Claim, Done
from jitterscope.inventory import service as inventory
from jitterscope.kit.allowance import TooMuch, limited
from jitterscope.settings import settings
from jitterscope.tenancy import limits
from jitterscope.worker import send

log = structlog.get_logger(__name__)

TASK = "incidents.look"
# Per process: more would only compete for the GIL, and other work needs its threads.
MOST_AT_ONCE = 2
# After this, other tasks of the queue get their turn.
LONGEST_TURN_S = 2.0
# A look that takes longer ends with its next statement.
LONGEST_LOOK_S = 120.0
# What is due later than this is left to the poll.
_SOON = timedelta(seconds=2)

_places = threading.BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Trigger:
    """A collector's report that something happened to a resource, and of what kind."""

    resource_id: int
    reason: str
    at_us: int


def triggered(session: Session, triggers: Sequence[Trigger]) -> list[int]:
    """Record triggers with the data they came with, and wake a worker after the commit; returns the subjects' ids."""
    if not triggers:
        return []
    owners = inventory.owning_subjects(session, [one.resource_id for one in triggers])
    reasons: dict[int, set[str]] = {}
    newest: dict[int, int] = {}
    for one in triggers:
        if (subject_id := owners.get(one.resource_id)) is not None:
            reasons.setdefault(subject_id, set()).add(one.reason)
            newest[subject_id] = max(one.at_us, newest.get(subject_id, 0))
    if not newest:
        return []

    def rule(entry: Entry, now: datetime) -> Entry:
        return plan.triggered(entry, sorted(reasons[entry.subject_id]), newest[entry.subject_id], now)

    changes = schedule.change(session, list(newest), rule)
    delays = {
        after.due_at - now for before, after, now in changes.values()
        if after.due_at is not None and after.due_at != before.due_at and after.due_at - now < _SOON
    }  # fmt: skip
    if delays:
        after_commit(session, lambda: wake(*(delay.total_seconds() for delay in sorted(delays))))
    return sorted(newest)


def wake(*delays_s: float) -> None:
    """Tell a worker that something is due, now or shortly. If the broker is down, the poll finds it."""
    try:
        for delay_s in sorted({round(max(0.0, one), 1) for one in delays_s}):
            send(TASK, countdown_s=delay_s)
    except (ValkeyError, BrokerError, OSError) as error:
        cache.failed(error)


def look_at_what_is_due() -> int:
    """Diagnose what is due until nothing is, or for some seconds; returns how many.

    Returns 0 if the process is already running enough diagnoses.
    """
    if not _places.acquire(blocking=False):
        return 0  # the holder of the place continues until nothing is due
    try:
        began, looks = time.monotonic(), 0
        while (claim := next_claim()) is not None:
            look(claim)
            looks += 1
            if time.monotonic() - began > LONGEST_TURN_S:
                wake(0.0)
                break
        return looks
    finally:
        _places.release()


def next_claim() -> Claim | None:
    """Take what is due: from the organization with the fewest running looks, then the one that has waited longest."""
    with system_session() as session:
        for organization_id in schedule.turns(session):
            if not limits.allows(organization_id, "diagnoses"):
                continue  # what is due stays due
            enter_organization(session, organization_id)
            if (claim := schedule.claim(session)) is not None:
                return claim
    return None


def look(claim: Claim) -> Outcome | None:
    """Diagnose what was claimed and plan the next look.

    An error, or too much data, is logged, and the subject is retried later.

    An unavailable database affects everything, so that error is raised: the claim is due again when its lease ends.
    """
    try:
        with limited(task_allowance(LONGEST_LOOK_S)):
            return _look(claim)
    except Exception as error:
        if outages.database_reason(error) is not None:
            raise
        _failed(claim, error)
        with organization_session(claim.organization_id) as session:
            schedule.finish(session, [Done(claim.entry, plan.failed, 0, claim.leased_until)])
        return None


def _look(claim: Claim) -> Outcome | None:
    with organization_session(claim.organization_id) as session:
        first = diagnoses.first_look(session, claim.entry)
        if first.outcome != "open":
            _plan_next(session, claim, first.outcome, first.beside)
            return first.outcome
        schedule.finish(session, [_done(session, *one) for one in first.beside])
    outcome = diagnoses.diagnose_subject(claim.organization_id, claim.entry.subject_id)
    with organization_session(claim.organization_id) as session:
        _plan_next(session, claim, outcome)
    return outcome


def _failed(claim: Claim, error: Exception) -> None:
    FAILED.labels("diagnosis").inc()
    of = {"organization_id": claim.organization_id, "subject_id": claim.entry.subject_id}
    if isinstance(error, TooMuch):
        log.warning("diagnosis_too_large", most_bytes=error.most_bytes, **of)
    else:
        log.error("diagnosis_failed", exc_info=error, **of)


def _plan_next(
    session: Session, claim: Claim, outcome: Outcome | None, beside: Sequence[tuple[Entry, Outcome]] = ()
) -> None:
    own = replace(_done(session, claim.entry, outcome), leased_until=claim.leased_until)
    finished = schedule.finish(session, [own, *(_done(session, *one) for one in beside)])
    entry, now = finished.get(claim.entry.subject_id, (None, None))
    if entry is not None and now is not None and entry.due_at is not None:
        delay = entry.due_at - now
        if timedelta(0) < delay < _SOON:
            after_commit(session, lambda: wake(delay.total_seconds()))


def _done(session: Session, entry: Entry, outcome: Outcome | None) -> Done:
    every = timedelta(seconds=settings().scheduled_diagnosis_every_s)
    seen = diagnoses.look_of(session, entry.subject_id, outcome)

    def rule(before: Entry, now: datetime) -> Entry:
        return plan.looked(before, entry.waiting, seen, every, now)

    return Done(entry, rule, 0 if outcome is None else outcome.end_us)
