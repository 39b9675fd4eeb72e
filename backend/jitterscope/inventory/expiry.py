"""Deletes long-gone resources: pods, processes, and nodes that will not be seen again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY, BIGINT
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.series import retention

# A resource that lived shorter than this leaves nothing worth keeping in 1 min rollups.
SHORT_LIFE = timedelta(hours=1)
_AT_ONCE = 2000

ReferrerProvider = Callable[[Session], Iterable[int]]
_providers: list[ReferrerProvider] = []

# Kept resources keep their parents and their node, however long ago those were seen.
_DROP = text(
    """
    WITH RECURSIVE candidates AS (
        SELECT id FROM resources WHERE id <> ALL(:referred) AND (last_seen_at < :long_ago
            OR (last_seen_at < :ago AND last_seen_at - first_seen_at < :short))
    ), kept AS (
        SELECT id, parent_id, node_id FROM resources WHERE id NOT IN (SELECT id FROM candidates)
        UNION
        SELECT r.id, r.parent_id, r.node_id FROM kept k JOIN resources r ON r.id IN (k.parent_id, k.node_id)
    )
    DELETE FROM resources WHERE id IN (
        SELECT id FROM candidates WHERE id NOT IN (SELECT id FROM kept) ORDER BY id LIMIT :at_once
    ) AND last_seen_at < :ago RETURNING id
    """
).bindparams(bindparam("referred", type_=ARRAY(BIGINT)))


def register_referrer(provider: ReferrerProvider) -> ReferrerProvider:
    """Add a function that returns the ids of resources to keep; call it when the domain's tasks module is imported."""
    if provider not in _providers:
        _providers.append(provider)
    return provider


def drop_gone(organization_id: int, now_us: int) -> int:
    """Remove resources not seen for longer than the organization keeps data, with their facts and series.

    Those that lived less than an hour go with the 1 s rollups, others with the 1 min rollups. Referenced resources
    stay, and so do the parents of what stays. Returns how many were removed. Safe to run concurrently.
    """
    total = 0
    while True:
        with db.organization_session(organization_id) as session:
            policy = retention.of(session)
            now = datetime.fromtimestamp(now_us / 1e6, UTC)
            gone = list(
                session.execute(
                    _DROP,
                    {
                        "referred": sorted({identity for provider in _providers for identity in provider(session)}),
                        "ago": now - timedelta(days=policy.second_days),
                        "long_ago": now - timedelta(days=policy.minute_days), "short": SHORT_LIFE,
                        "at_once": _AT_ONCE,
                    },
                ).scalars()
            )  # fmt: skip
            retention.delete_resources(session, gone)
        total += len(gone)
        if len(gone) < _AT_ONCE:
            return total
