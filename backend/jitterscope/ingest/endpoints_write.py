"""POST /write: Prometheus remote write 1.0 and 2.0."""

from __future__ import annotations

import struct
import time
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from jitterscope import db
from jitterscope.answers import refuses
from jitterscope.bounds import INGEST, bounded
from jitterscope.errors import Problem
from jitterscope.ingest import body as bodies
from jitterscope.ingest import remote_write
from jitterscope.ingest.limits import MAX_FUTURE_US
from jitterscope.ingest.remote_write import ExternalSeries, WriteRequest
from jitterscope.inventory import external_resources
from jitterscope.kit.declared import not_audited
from jitterscope.remote import senders
from jitterscope.series import external, external_metrics, partitions, retention
from jitterscope.settings import settings
from jitterscope.tenancy import limits
from jitterscope.tenancy.auth import require
from jitterscope.tenancy.principal import Principal

router = APIRouter(tags=["ingest"])

_CONTENT = {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}}


@router.post(
    "/write",
    status_code=204,
    openapi_extra={"requestBody": {"required": True, "content": _CONTENT}},
    dependencies=[not_audited("samples of other senders; nothing else can be changed with them")],
)
@bounded(INGEST)
@refuses(413, "The body exceeds the size limit of this installation.")
@refuses(415, "Neither remote write 1.0 nor 2.0, or not compressed with snappy.")
async def write(request: Request, principal: Annotated[Principal, Depends(require("ingest:write"))]) -> Response:
    """Store samples from Prometheus, Grafana Alloy, vmagent, or an OpenTelemetry Collector.

    Only samples are stored. Native histograms are counted as not written, which a 2.0 sender sees in the response
    headers.
    """
    headers = request.headers
    message = remote_write.message_of(headers.get("content-type", ""), headers.get("content-encoding", ""))
    body = await bodies.read_limited(request, settings().ingest_max_body_bytes)
    return await run_in_threadpool(_accept, principal, headers.get("user-agent", ""), message, body)


def _accept(principal: Principal, agent: str, message: str, body: bytes) -> Response:
    organization_id = principal.organization_id
    content = remote_write.decompress(body, settings().ingest_max_batch_bytes)
    limits.spend(organization_id, {"ingest_bytes": len(body), "unpacked_bytes": len(content)})
    parsed = remote_write.parse(message, content)
    samples, written = _within(organization_id, parsed)
    last = None
    if samples:
        limits.spend(organization_id, {"samples": written})
        first = min(one.samples[0][0] for one in samples)
        last = max(one.samples[-1][0] for one in samples)
        partitions.ensure(first, last)
        with db.organization_session(organization_id) as session:
            _store(session, organization_id, samples)
    if parsed.described:
        with db.organization_session(organization_id) as session:
            external_metrics.store(session, organization_id, parsed.described)
    if principal.token_id is not None:
        not_written = len(parsed.invalid) + parsed.histograms
        now_us = time.time_ns() // 1000
        senders.record(organization_id, principal.token_id, agent, written, not_written, last, now_us)
    headers = {
        "X-Prometheus-Remote-Write-Samples-Written": str(written),
        "X-Prometheus-Remote-Write-Histograms-Written": "0",
        "X-Prometheus-Remote-Write-Exemplars-Written": "0",
    }
    if parsed.invalid or parsed.histograms:  # the specification's partial write
        faults = parsed.invalid[:3] + ([f"{parsed.histograms} native histograms"] if parsed.histograms else [])
        raise Problem(
            400,
            "partial-write",
            "Not everything was written",
            f"Written: {written} samples. Not written: {'; '.join(faults)}.",
            "Do not send it again: the valid samples are stored.",
            headers=headers,
        )
    return Response(status_code=204, headers=headers)


def _within(organization_id: int, parsed: WriteRequest) -> tuple[list[ExternalSeries], int]:
    """Series with their acceptable samples, in order of time, and how many samples count as written."""
    now_us = time.time_ns() // 1000
    oldest_us, newest_us = now_us - retention.accepted_us(organization_id), now_us + MAX_FUTURE_US
    kept: list[ExternalSeries] = []
    written = 0
    for one in parsed.series:
        inside = sorted(sample for sample in one.samples if oldest_us <= sample[0] <= newest_us)
        if len(inside) < len(one.samples):
            outside = len(one.samples) - len(inside)
            parsed.invalid.append(f"{outside} samples of {one.name} are too old or in the future")
        written += len(inside)
        # A stale marker says that the series has ended: valid, with nothing to store.
        values = [sample for sample in inside if sample[1] == sample[1] or not _is_stale(sample[1])]
        if values:
            kept.append(ExternalSeries(one.name, one.labels, one.kind, values))
    return kept, written


def _is_stale(value: float) -> bool:
    return bool(struct.unpack("<Q", struct.pack("<d", value))[0] == remote_write.STALE_BITS)


def _store(session: Session, organization_id: int, samples: list[ExternalSeries]) -> None:
    resource_ids = external_resources.resolve(session, organization_id, [one.labels for one in samples])
    external.store(
        session,
        organization_id,
        [
            external.Samples(
                resource_id,
                one.name,
                one.labels,
                one.kind,
                np.array([sample[0] for sample in one.samples], np.int64),
                np.array([sample[1] for sample in one.samples], np.float64),
            )
            for resource_id, one in zip(resource_ids, samples, strict=True)
        ],
    )
