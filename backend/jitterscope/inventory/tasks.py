"""Periodic work on resources. Every task can be repeated, killed, and run twice at once."""

from __future__ import annotations

import time

import structlog

from jitterscope import cache, db
from jitterscope.cache import ValkeyError, valkey
from jitterscope.events.publish import publish
from jitterscope.inventory import expiry
from jitterscope.inventory.store import collectors
from jitterscope.worker import periodic

log = structlog.get_logger(__name__)
# Longer than a silence is considered.
_TOLD_S = 3600


@periodic(seconds=3600)
def drop_gone() -> None:
    """Remove long-gone resources."""

    def of(organization_id: int) -> None:
        dropped = expiry.drop_gone(organization_id, time.time_ns() // 1000)
        if dropped:
            log.info("resources_dropped", organization=organization_id, count=dropped)

    db.each_organization("drop gone resources", of)


@periodic(seconds=5)
def tell_silent() -> None:
    """Publish each collector that fell silent, once."""
    for organization_id in db.organization_ids():
        with db.organization_session(organization_id) as session:
            silent = collectors.fell_silent(session)
        for node_id, last_seen_at in silent.items():
            key = f"jitterscope:silent:{organization_id}:{node_id}:{last_seen_at.timestamp()}"
            try:
                is_news = valkey().set(key, "1", nx=True, ex=_TOLD_S)
            except ValkeyError as error:  # clients that reconnect after the outage fetch everything again
                cache.failed(error)
                return
            if is_news:
                publish(organization_id, "collector", node_id, state="silent")
