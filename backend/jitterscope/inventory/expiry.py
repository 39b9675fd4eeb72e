"""Deletes long-gone resources: pods, processes, and nodes that will not be seen again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.inventory.store import expiry as store
from jitterscope.series import retention

# A resource that lived shorter than this leaves nothing worth keeping in 1 min rollups.
SHORT_LIFE = timedelta(hours=1)
_AT_ONCE = 2000

ReferrerProvider = Callable[[Session], Iterable[int]]
_providers: list[ReferrerProvider] = []


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
            referred = {identity for provider in _providers for identity in provider(session)}
            ago, long_ago = now - timedelta(days=policy.second_days), now - timedelta(days=policy.minute_days)
            gone = store.drop(session, referred, ago, long_ago, SHORT_LIFE, _AT_ONCE)
            retention.delete_resources(session, gone)
        total += len(gone)
        if len(gone) < _AT_ONCE:
            return total
