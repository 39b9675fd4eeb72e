"""How long data is kept, per organization and level, and the deletion of what is older."""

from __future__ import annotations

from dataclasses import dataclass

import structlog
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.series import partitions, pins
from jitterscope.series.store import partitions as stored_partitions
from jitterscope.series.store import retention as stored
from jitterscope.series.store.retention import delete_resources as delete_resources
from jitterscope.settings import settings
from jitterscope.trusted import Trusted

log = structlog.get_logger(__name__)

DAY_US = 86_400_000_000
_TRUST_S = 60.0
# Rows of tables without partitions that are deleted in one transaction.
_MOST_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Retention:
    """How many days ticks, 1 s rollups, and 1 min rollups are kept."""

    raw_days: int = 7
    second_days: int = 30
    minute_days: int = 400


def of(session: Session) -> Retention:
    """The policy of the session's organization, or the default; never more than the installation allows."""
    policy = stored.policy(session)
    own = Retention() if policy is None else Retention(*policy)
    limit = most()
    return Retention(
        min(own.raw_days, limit.raw_days),
        min(own.second_days, limit.second_days),
        min(own.minute_days, limit.minute_days),
    )


_policies = Trusted(of, _TRUST_S)


def most() -> Retention:
    """The longest retention that an organization of this installation can set."""
    given = settings()
    return Retention(given.retention_max_raw_days, given.retention_max_second_days, given.retention_max_minute_days)


def accepted_us(organization_id: int) -> int:
    """How old arriving data may be to be accepted, in µs; cached for up to a minute.

    The horizon of the installation limits it: older data would create partitions of every table for each of its days.
    """
    return min(_policies.of(organization_id).raw_days, settings().ingest_oldest_days) * DAY_US


def set_policy(session: Session, organization_id: int, policy: Retention) -> None:
    """Change the policy of the session's organization. Raises IntegrityError if ticks would outlive rollups."""
    stored.set_policy(session, organization_id, policy.raw_days, policy.second_days, policy.minute_days)
    _policies.changed(session, organization_id)


def expire(organization_id: int, now_us: int) -> dict[str, int]:
    """Delete an organization's rows past its retention, except pinned ones; returns the number of rows by table."""
    deleted: dict[str, int] = {}
    for table in stored.TABLES:
        with db.organization_session(organization_id) as session:
            policy = of(session)
            deleted[table] = _expire_table(session, table, policy, now_us)
            if table == "series_blocks":
                deleted |= _expire_ledger(session, policy, now_us)
    deleted |= _expire_by_parts(organization_id, now_us)
    return {table: count for table, count in deleted.items() if count}


def _expire_table(session: Session, table: str, policy: Retention, now_us: int) -> int:
    cutoff_us = now_us - getattr(policy, stored.TABLES[table][0]) * DAY_US
    return stored.expire(session, table, cutoff_us, _pinned(session, cutoff_us))


def _expire_ledger(session: Session, policy: Retention, now_us: int) -> dict[str, int]:
    # A day longer than batches are accepted, so that none can arrive again after its row is deleted.
    batches = stored.expire_batches(session, now_us - (policy.raw_days + 1) * DAY_US)
    return {"ingest_batches": batches, "series_layouts": stored.expire_layouts(session)}


def _expire_by_parts(organization_id: int, now_us: int) -> dict[str, int]:
    deleted = dict.fromkeys(stored.BY_PARTS, 0)
    for table in stored.BY_PARTS:
        while True:
            with db.organization_session(organization_id) as session:
                part = _expire_part(session, table, now_us)
            deleted[table] += part
            if part < _MOST_AT_ONCE:
                break
    return deleted


def _expire_part(session: Session, table: str, now_us: int) -> int:
    cutoff_us = now_us - of(session).second_days * DAY_US
    if table == "facts":
        return stored.expire_facts(session, cutoff_us, _pinned(session, cutoff_us), _MOST_AT_ONCE)
    # A day longer than their samples: when a series was last seen is known to the hour.
    return stored.expire_unseen(session, table, cutoff_us - DAY_US, _MOST_AT_ONCE)


def _pinned(session: Session, cutoff_us: int) -> list[tuple[int, int, int]]:
    """(resource, from, to) of pinned windows that began before the cutoff, in µs."""
    return [
        (resource_id, window.from_us, window.to_us)
        for window in pins.pinned_windows(session)
        for resource_id in window.resource_ids
        if window.from_us < cutoff_us
    ]


def drop_empty_partitions(now_us: int) -> int:
    """Drop empty partitions that ended at least a day ago; returns how many."""
    dropped = stored_partitions.drop_empty(now_us - DAY_US)
    if dropped:
        partitions.forget()
    return dropped
