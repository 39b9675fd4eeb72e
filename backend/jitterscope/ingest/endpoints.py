"""POST /ingest: where collectors deliver."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool

from jitterscope.ingest import body as bodies
from jitterscope.ingest.schemas import Stored
from jitterscope.ingest.store import store
from jitterscope.ingest.validation import validate
from jitterscope.series import retention
from jitterscope.settings import settings
from jitterscope.tenancy.auth import Principal, require

router = APIRouter(tags=["ingest"])

_CONTENT = {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}}


@router.post("/ingest", openapi_extra={"requestBody": {"required": True, "content": _CONTENT}})
async def ingest(request: Request, principal: Annotated[Principal, Depends(require("ingest:write"))]) -> Stored:
    """Store one batch: a zstd frame with an ingest.v1.Batch. Repeating a batch is safe: it is stored once.

    200 means that it is committed. A 4xx means that it never will be: drop it. Anything else: send it again later.
    """
    body = await bodies.read_limited(request, settings().ingest_max_body_bytes)
    return await run_in_threadpool(_accept, principal.organization_id, body)


def _accept(organization_id: int, body: bytes) -> Stored:
    batch = bodies.parse(bodies.decompress(body, settings().ingest_max_batch_bytes))
    now_us = time.time_ns() // 1000
    valid = validate(batch, now_us, now_us - retention.raw_us(organization_id))
    return Stored(duplicate=not store(organization_id, valid))
