"""Live events: something changed, look again. Small JSON objects on one Valkey channel per organization.

They are hints, not data: nothing is lost with one that does not arrive, because clients refetch on (re)connect.
"""

from __future__ import annotations

import json

from jitterscope import cache
from jitterscope.cache import ValkeyError, valkey


def channel_of(organization_id: int) -> str:
    """The pub/sub channel of an organization."""
    return f"jitterscope:events:{organization_id}"


def publish(organization_id: int, type: str, id: int, **details: str | int) -> None:
    """Tell everybody who is connected. Call it from `db.after_commit`; what Valkey does not take is lost."""
    try:
        valkey().publish(channel_of(organization_id), json.dumps({"type": type, "id": id, **details}))
    except ValkeyError as error:
        cache.failed(error)
