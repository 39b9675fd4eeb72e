"""Live events: something changed, look again. Small JSON objects on one Valkey channel per organization.

They are hints, not data: losing one does no harm, because clients refetch on (re)connect.
"""

from __future__ import annotations

import json

from jitterscope import cache
from jitterscope.cache import ValkeyError, valkey


def channel_of(organization_id: int) -> str:
    """The pub/sub channel of an organization."""
    return f"jitterscope:events:{organization_id}"


def publish(organization_id: int, type: str, id: int, **details: str | int) -> None:
    """Notify all connected clients. Call it from `db.after_commit`; if Valkey does not accept it, it is lost."""
    try:
        valkey().publish(channel_of(organization_id), json.dumps({"type": type, "id": id, **details}))
    except ValkeyError as error:
        cache.failed(error)
