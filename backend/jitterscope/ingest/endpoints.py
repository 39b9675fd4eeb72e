"""POST /ingest: where collectors deliver."""

from __future__ import annotations

import time
from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from prometheus_client import Counter

from jitterscope.answers import refuses
from jitterscope.bounds import INGEST, bounded
from jitterscope.collection import service as collection
from jitterscope.collection.switches import dropped
from jitterscope.errors import Problem
from jitterscope.ingest import body as bodies
from jitterscope.ingest.checks import CLOCK_AHEAD
from jitterscope.ingest.dropping import without
from jitterscope.ingest.schemas import Stored
from jitterscope.ingest.service import store
from jitterscope.ingest.validation import validate
from jitterscope.inventory import collectors
from jitterscope.kit.declared import not_audited
from jitterscope.series import retention
from jitterscope.settings import settings
from jitterscope.tenancy import limits
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

log = structlog.get_logger(__name__)
TOO_OLD = Counter("jitterscope_ingest_too_old_total", "Parts of batches refused because they are too old")

router = APIRouter(tags=["ingest"])

SOURCES_OFF = "Jitterscope-Sources-Off"
_OFF = {
    "description": "Comma-separated ids of the switches that are off (`/collection`); absent if none is",
    "schema": {"type": "string"},
}
_CONTENT = {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "/ingest",
    responses={200: {"headers": {SOURCES_OFF: _OFF}}},
    openapi_extra={"requestBody": {"required": True, "content": _CONTENT}},
    dependencies=[not_audited("data of collectors; each batch is counted by collector")],
)
@bounded(INGEST)
@refuses(413, "The batch exceeds the size limit of this installation.")
async def ingest(
    request: Request, response: Response, principal: Annotated[Principal, Depends(require("ingest:write"))]
) -> Stored:
    """Store one batch: a zstd frame with an ingest.v1.Batch. Repeating a batch is safe: it is stored once.

    What the organization switched off (`/collection`) is left out; the header Jitterscope-Sources-Off names it.

    200 means that the batch is committed. A 4xx means that it never will be: drop it. For anything else, send it again
    later.
    """
    body = await bodies.read_limited(request, settings().ingest_max_body_bytes)
    stored, off = await run_in_threadpool(_accept, principal.organization_id, body)
    if off:
        response.headers[SOURCES_OFF] = ",".join(off)
    return stored


def _accept(organization_id: int, body: bytes) -> tuple[Stored, tuple[str, ...]]:
    """Store a batch; returns what became of it, and which sources are off."""
    content = bodies.decompress(body, settings().ingest_max_batch_bytes)
    # Before parsing: whatever the batch turns out to be, unpacking and parsing it is work.
    limits.spend(organization_id, {"ingest_bytes": len(body), "unpacked_bytes": len(content)})
    batch = bodies.parse(content)
    now_us = time.time_ns() // 1000
    try:
        valid = validate(batch, now_us, now_us - retention.accepted_us(organization_id))
    except Problem as problem:
        if problem.type == CLOCK_AHEAD and batch.resources:
            why = f"The service refuses the data of this machine: {problem.detail}"
            collectors.clock_ahead(organization_id, batch.resources[0].key, why)
        raise
    off = collection.off(organization_id)
    valid = without(valid, dropped(off))
    series = [len(block.resource) for block in valid.blocks]
    samples = sum(count * block.tick_count for count, block in zip(series, valid.blocks, strict=True))
    limits.check_node(organization_id, valid.resources[0].key, sum(series))
    limits.spend(organization_id, {"samples": samples})
    if valid.too_old:
        TOO_OLD.inc(valid.too_old)
        log.info("samples_too_old", organization=organization_id, count=valid.too_old)
    new = store(organization_id, valid)
    if valid.ahead:
        collectors.clock_ahead(organization_id, valid.resources[0].key, valid.ahead)
    return Stored(duplicate=not new, too_old=valid.too_old), off
