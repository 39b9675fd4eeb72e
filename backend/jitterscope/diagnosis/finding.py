"""What a cause says about a snapshot. Plain serialisable data: the API, the UI and the tests share it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Confidence = Literal["high", "medium", "low"]
Severity = Literal["critical", "warning", "info"]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=True)


class SeriesRef(Part):
    """Where a number can be looked up again."""

    resource_id: int
    metric: str
    from_us: int
    to_us: int


class Evidence(Part):
    """One measured statement. `value` and `comparison` are ready to show: "19 of 19", "chance 6.5 %"."""

    id: str
    statement: str
    value: str
    comparison: str | None = None
    # e.g. {"hits": 19, "of": 19, "chance_ratio": 0.065, "p_value": 1e-12}; units in the names
    numbers: dict[str, float] = Field(default_factory=dict)
    series: list[SeriesRef] = Field(default_factory=list)


class Rival(Part):
    """Another cause that could look the same, and whether the data exclude it."""

    cause: str
    title: str
    status: Literal["ruled_out", "not_ruled_out", "not_enough_data"]
    reason: str
    numbers: dict[str, float] = Field(default_factory=dict)


class Interval(Part):
    low: float
    high: float
    expected: float
    level: float = 0.9


class Patch(Part):
    """Text to copy. `language` names how to highlight it: yaml, shell, corefile, diff."""

    label: str
    language: Literal["yaml", "shell", "corefile", "diff"]
    text: str


class FixSetting(Part):
    """What a fix sets, as values to replay or to compare; None: that stays as it is.

    `cpu_limit` in CPUs, `gogc` in percent. "off" is the Go runtime's own word: no such limit.
    """

    cpu_limit: float | None = None
    period_us: int | None = None
    burst_us: int | None = None
    gomaxprocs: int | None = None
    gogc: float | Literal["off"] | None = None
    gomemlimit_bytes: int | Literal["off"] | None = None


class Fix(Part):
    """A change that can help, or a well-known one that cannot and why (`verdict` cannot_help)."""

    id: str
    title: str
    summary: str
    verdict: Literal["removes", "reduces", "cannot_help", "unknown"]
    # Share of queries (or ticks) still slow after it, 0..1, where it can be predicted.
    predicted_slow_ratio: Interval | None = None
    predicted_throttled_ratio: Interval | None = None
    # None: it sets nothing of that, or to what is not known.
    setting: FixSetting | None = None
    precondition: str | None = None
    patches: list[Patch] = Field(default_factory=list)
    caveats: list[str] = Field(default_factory=list)
    verify: str
    undo: str
    references: list[str] = Field(default_factory=list)


class Impact(Part):
    """Who was hurt, over the window. All None where no latency is known: then it is a risk, not an incident."""

    queries: int | None = None
    slow_queries: int | None = None
    slow_ratio: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    throttled_ratio: float | None = None
    throttled_ms: float | None = None
    cpu_mean: float | None = None
    cpu_limit: float | None = None
    cpu_peak_100ms: float | None = None
    gc_cycles: int | None = None


class Found(Part):
    kind: Literal["found"] = "found"
    cause: str
    # 0..1: ranks findings of one snapshot; not shown as a probability
    score: float
    confidence: Confidence
    # None: nobody was hurt, a risk
    severity: Severity | None
    title: str  # one sentence: who, what, because of what, how bad
    summary: str
    onset_us: int
    last_us: int
    # ADDRESS:PORT of a server that the subject asks, where that is what is in trouble: one incident with that server's
    upstream: str | None = None
    impact: Impact
    evidence: list[Evidence]
    rivals: list[Rival] = Field(default_factory=list)
    fixes: list[Fix] = Field(default_factory=list)


class NotFound(Part):
    kind: Literal["not_found"] = "not_found"
    cause: str
    reason: str
    numbers: dict[str, float] = Field(default_factory=dict)


class NotEnoughData(Part):
    kind: Literal["not_enough_data"] = "not_enough_data"
    cause: str
    missing: list[str]
    reason: str


Finding = Annotated[Found | NotFound | NotEnoughData, Field(discriminator="kind")]
