"""Which collectors report, with what delay, and what their sources can measure."""

from __future__ import annotations

import time

import structlog

from jitterscope import db
from jitterscope.inventory.store import nodes
from jitterscope.inventory.store.collectors import seen as seen
from jitterscope.inventory.store.collectors import store_sources as store_sources
from jitterscope.inventory.types import SourceRow
from jitterscope.kit.perobject import PerObject

log = structlog.get_logger(__name__)
_CLOCK_AGAIN_S = 60.0
_clocks_told: PerObject[dict[tuple[int, str], float]] = PerObject(dict)


def clock_ahead(organization_id: int, node_key: str, why: str) -> None:
    """Report on a node's `spool` source that its batches are refused, because the collector cannot report that itself.

    Repeated only after a while; the collector's own report replaces it with the next accepted batch.
    """
    now_s, told = time.monotonic(), _clocks_told.of(db.engine())
    if now_s - told.get((organization_id, node_key), -_CLOCK_AGAIN_S) < _CLOCK_AGAIN_S:
        return
    if len(told) > 10_000:
        told.clear()
    told[organization_id, node_key] = now_s
    log.warning("clock_ahead", organization=organization_id, node=node_key[:200], why=why)
    with db.organization_session(organization_id) as session:
        node_id = nodes.with_key(session, node_key)
        if node_id is not None:
            state = SourceRow("spool", "degraded", why, "a correct clock (NTP)")
            store_sources(session, organization_id, node_id, [state])
