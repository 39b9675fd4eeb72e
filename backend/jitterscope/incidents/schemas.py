"""REST shapes of incidents and risks. Times are RFC 3339 UTC; chart columns are µs since the epoch."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.finding import Confidence, Evidence, Fix, Impact, NotEnoughData, Rival, Severity
from jitterscope.kit.schema import Schema

IncidentState = Literal["open", "acknowledged", "fix_applied", "verified", "resolved"]


class SubjectRef(Schema):
    resource_id: int
    kind: str
    key: str
    name: str  # what people call it: "kube-system/coredns-7c9/coredns", or the cgroup path
    node: str


class IncidentSummary(Schema):
    id: int
    cause: str
    cause_title: str
    title: str
    severity: Severity
    confidence: Confidence
    state: IncidentState
    muted: bool
    muted_until: datetime | None  # only with muted; None: until unmuted
    subject: SubjectRef
    opened_at: datetime
    onset_at: datetime  # the first throttled query, before we knew
    last_seen_at: datetime
    resolved_at: datetime | None
    occurrences: int  # how many diagnoses updated it
    impact: Impact


class Transition(Schema):
    at: datetime
    actor: str  # "jitterscope" or a user's name
    action: Literal[
        "opened", "escalated", "acknowledged", "unacknowledged", "muted", "unmuted", "resolved", "reopened",
        "reclassified", "fix_applied", "pinned", "unpinned", "noted",
    ]  # fmt: skip
    detail: str | None


class Incident(IncidentSummary):
    summary: str
    window_from: datetime
    window_to: datetime
    trigger_at: datetime  # what the chart zooms to at first
    evidence: list[Evidence]
    rivals: list[Rival]
    fixes: list[Fix]
    not_enough_data: list[NotEnoughData]
    references: list[str]
    history: list[Transition]
    pinned: bool


class Risk(Schema):
    """A finding that hurts nobody yet: listed, not sent."""

    id: int
    cause: str
    cause_title: str
    title: str
    summary: str
    confidence: Confidence
    subject: SubjectRef
    first_seen_at: datetime
    last_seen_at: datetime
    impact: Impact
    evidence: list[Evidence]
    fixes: list[Fix]


class MuteRequest(Schema):
    until: datetime | None = Field(default=None, description="None: until unmuted")
    reason: str | None = Field(default=None, max_length=500)


class NoteRequest(Schema):
    note: str | None = Field(default=None, max_length=2000)


class PinRequest(Schema):
    pinned: bool


class RivalInfo(Schema):
    id: str
    title: str


class CauseInfo(Schema):
    """A rule: what it finds, how the fault works, what it could be confused with."""

    id: str
    title: str
    summary: str
    mechanism: str
    needs: list[str]  # metric names
    rivals: list[RivalInfo]
    false_positives: list[str]
    references: list[str]


class TimelineCpu(Schema):
    """100 ms ticks (or 10 ms where zoomed); parallel arrays, None where a tick is missing."""

    t_us: list[int]
    step_us: int
    cpu_ratio: list[float | None]  # CPUs used: usage_us / step_us; per point the maximum of its ticks when downsampled
    throttled_us: list[float | None]
    throttled_periods: list[float | None]


class TimelineSpan(Schema):
    from_us: int
    to_us: int
    label: str
    attributes: dict[str, str]


class TimelineQueries(Schema):
    """One entry a DNS answer; `t_us` is when its query reached the server, so that answers which waited for the same
    moment form a staircase. `queue_wait_us` is -1 where it is not known. `complete` spans hold every query; outside
    them only slow ones were kept."""

    t_us: list[int]
    latency_us: list[int]
    result: list[int]
    queue_wait_us: list[int] | None
    name: list[int]  # index into names
    names: list[str]
    complete: list[tuple[int, int]]
    truncated: int  # answers left out to keep the response under its point budget


class TimelineRate(Schema):
    """Per-tick counts and latency of the DNS server, also where single queries were not kept."""

    t_us: list[int]
    step_us: int
    queries: list[float | None]
    slow: list[float | None]
    latency_p50_us: list[float | None]
    latency_max_us: list[float | None]


class TimelineLimit(Schema):
    from_us: int
    cpu_limit: float | None  # CPUs; None: no limit


class Timeline(Schema):
    """Everything the incident picture shows, on one time axis [from_us, to_us)."""

    from_us: int
    to_us: int
    subject: SubjectRef
    cpu: TimelineCpu
    limits: list[TimelineLimit]  # steps over time, from the fact history
    throttled: list[TimelineSpan]
    gc: list[TimelineSpan]
    queries: TimelineQueries
    rate: TimelineRate
    slow_threshold_us: int
    notes: list[str]  # what is not known here and what it would need
