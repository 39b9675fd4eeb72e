"""Live events: something changed, look again. Small JSON objects on one Valkey channel per organization.

They are hints, not data: nothing is lost with one that does not arrive, because clients refetch on (re)connect.
"""

from __future__ import annotations

import json

import structlog

from jitterscope.cache import ValkeyError, valkey

log = structlog.get_logger(__name__)


def channel_of(organization_id: int) -> str:
    """The pub/sub channel of an organization."""
    return f"jitterscope:events:{organization_id}"


def publish(organization_id: int, type: str, id: int, **details: str | int) -> None:
    """Tell everybody who is connected. Call it from `db.after_commit`; an unreachable Valkey is logged, not raised."""
    try:
        valkey().publish(channel_of(organization_id), json.dumps({"type": type, "id": id, **details}))
    except ValkeyError as error:
        log.warning("event_not_published", type=type, id=id, error=str(error)[:200])
