"""REST shapes of analyses. Times are RFC 3339 UTC; a report contains its own times in µs."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from jitterscope.analyses.report import Report
from jitterscope.diagnosis.core.shown import ImpactFigure
from jitterscope.kit.schema import Schema

AnalysisState = Literal["queued", "running", "done", "failed"]


class AnalysisProblem(Schema):
    """Why a file could not be analyzed; `type` is a slug."""

    type: str
    title: str
    detail: str
    what_to_do: str | None


class AnalysisSummary(Schema):
    id: int
    state: AnalysisState
    kind: str | None  # recognized by the content; None until then
    kind_title: str | None
    name: str
    size_bytes: int
    progress_ratio: float  # 0..1 of the file was read
    summary: str | None
    findings: int
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    file_kept: bool
    file_expires_at: datetime | None
    problem: AnalysisProblem | None


class Analysis(AnalysisSummary):
    report: Report | None
    figures: list[list[ImpactFigure]]  # for each finding of the report, its impact as displayed


class BenchTarget(Schema):
    """The target of a load test: the DNS Service, the upstream Service, or one server."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    address: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    port: int = Field(ge=1, le=65535)


class BenchRun(Schema):
    """One target at one rate. Latencies (µs) cover answered queries; null if there were none."""

    target: str = Field(max_length=60)
    rate_qps: float = Field(gt=0, le=1e7)
    seconds: float = Field(gt=0, le=86_400)
    sent: int = Field(ge=0, le=10**12)
    answered: int = Field(ge=0, le=10**12)
    lost: int = Field(ge=0, le=10**12)
    nxdomain: int = Field(default=0, ge=0, le=10**12)
    servfail: int = Field(default=0, ge=0, le=10**12)
    p50_us: float | None = Field(default=None, ge=0, le=1e12)
    p99_us: float | None = Field(default=None, ge=0, le=1e12)
    max_us: float | None = Field(default=None, ge=0, le=1e12)


class BenchResult(Schema):
    """A load test from low to high rate (`jitterscope dns-bench`)."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    sender: Annotated[str, StringConstraints(min_length=1, max_length=60)]
    started_us: int = Field(ge=0, le=32_503_680_000_000_000)
    timeout_ms: float = Field(gt=0, le=600_000)
    names: int = Field(ge=1, le=10**9)
    targets: list[BenchTarget] = Field(min_length=1, max_length=3)
    runs: list[BenchRun] = Field(min_length=1, max_length=600)

    @model_validator(mode="after")
    def _targets_are_known(self) -> BenchResult:
        known = {target.name for target in self.targets}
        if len(known) < len(self.targets):
            raise ValueError("two targets have the same name")
        unknown = sorted({run.target for run in self.runs} - known)
        if unknown:
            raise ValueError(f"runs of a target that is not listed: {unknown[0]}")
        return self
