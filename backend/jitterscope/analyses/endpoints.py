"""Analyses of evidence files: upload, list, read, delete."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from jitterscope.analyses import bench_report, service, store, upload
from jitterscope.analyses.models import AnalysisRow
from jitterscope.analyses.report import Report
from jitterscope.analyses.schemas import Analysis, AnalysisProblem, AnalysisSummary, BenchResult
from jitterscope.answers import refuses
from jitterscope.bounds import CHART, QUICK, UPLOAD, bounded
from jitterscope.db import organization_session
from jitterscope.diagnosis.core import shown
from jitterscope.kit import cursor as cursors
from jitterscope.kit.declared import audited
from jitterscope.kit.schema import Page
from jitterscope.paging import one_position
from jitterscope.tenancy.auth import require, still_allowed
from jitterscope.tenancy.principal import Principal

router = APIRouter(prefix="/analyses", tags=["analyses"])
Reader = Annotated[Principal, Depends(require("analyses:read"))]
Writer = Annotated[Principal, Depends(require("analyses:write"))]
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FORM = {
    "schema": {"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}}
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file, or a form with the part `file`; it can be gzipped",
        "content": {"application/octet-stream": _BINARY, "multipart/form-data": _FORM},
    }
}


@router.post("", status_code=202, openapi_extra=_BODY, dependencies=[audited("analysis.create")])
@bounded(UPLOAD)
@refuses(413, "The file exceeds the size limit, or the organization's evidence storage is full.")
@refuses(507, "The disk is full.")
async def create_analysis(
    principal: Writer,
    request: Request,
    name: Annotated[str | None, Query(max_length=255, description="Name of the file")] = None,
) -> AnalysisSummary:
    """Upload an evidence file: a packet capture, a dnsmasq or CoreDNS log, a metrics page, cpu.stat, `top -b` output,
    or process counts. Its type is detected from the content. It is analyzed in the background; `analysis` events
    report the progress."""
    kept = await asyncio.to_thread(_kept_bytes, principal)
    arrived = await upload.receive(request, principal.organization_id, kept, name)
    return await asyncio.to_thread(_keep, request, arrived)


def _kept_bytes(principal: Principal) -> int:
    with organization_session(principal.organization_id) as session:
        return store.kept_bytes(session)


def _keep(request: Request, arrived: upload.Upload) -> AnalysisSummary:
    try:
        # A file can take an hour to arrive: its sender may have been removed meanwhile.
        principal = still_allowed(request, "analyses:write")
        with organization_session(principal.organization_id) as session:
            return _summary(service.add_file(session, principal, arrived))
    finally:
        arrived.path.unlink(missing_ok=True)  # it was moved if all went well


@router.post("/dns-bench", status_code=201, dependencies=[audited("analysis.create")])
@bounded(QUICK)
def create_dns_bench(principal: Writer, result: BenchResult) -> Analysis:
    """Store the result of `jitterscope dns-bench`."""
    report = bench_report.report_of(result)
    with organization_session(principal.organization_id) as session:
        row = service.add_report(session, principal, result.name, 0, report)
        return _whole(row)


@router.get("")
@bounded(QUICK)
def list_analyses(
    principal: Reader, limit: Annotated[int, Query(ge=1, le=200)] = 50, cursor: str | None = None
) -> Page[AnalysisSummary]:
    """Analyses, newest first, without their reports."""
    with organization_session(principal.organization_id) as session:
        rows = store.newest(session, one_position(cursor), limit + 1)
        items = [_summary(row) for row in rows[:limit]]
    return Page(items=items, next_cursor=cursors.encode(items[-1].id) if len(rows) > limit else None)


@router.get("/{analysis_id}")
@bounded(CHART)
def get_analysis(principal: Reader, analysis_id: int) -> Analysis:
    """One analysis with its report."""
    with organization_session(principal.organization_id) as session:
        return _whole(service.get(session, analysis_id))


@router.delete("/{analysis_id}", status_code=204, response_class=Response, dependencies=[audited("analysis.delete")])
@bounded(QUICK)
def delete_analysis(principal: Writer, analysis_id: int) -> None:
    """Delete an analysis, its report, and its file."""
    with organization_session(principal.organization_id) as session:
        service.delete(session, principal, analysis_id)


def _summary(row: AnalysisRow) -> AnalysisSummary:
    return AnalysisSummary.model_validate(_columns(row))


def _whole(row: AnalysisRow) -> Analysis:
    report = None if row.report is None else Report.model_validate(row.report)
    figures = [] if report is None else [shown.figures(found.cause, found.impact) for found in report.findings]
    return Analysis.model_validate(_columns(row) | {"report": report, "figures": figures})


def _columns(row: AnalysisRow) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in AnalysisSummary.model_fields if name != "problem"}
    return columns | {"problem": None if row.problem is None else AnalysisProblem.model_validate(row.problem)}
