"""REST shapes of incidents and risks. Times are RFC 3339 UTC; chart columns are µs since the epoch."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.core.finding import Confidence, Evidence, Fix, Harm, Impact, NotEnoughData, Rival, Severity
from jitterscope.diagnosis.core.quantity import Unit
from jitterscope.diagnosis.core.shown import ImpactFigure
from jitterscope.incidents.api.verification_schemas import FixLanding, FixPrediction, Verification
from jitterscope.kit.schema import Schema

# Only verified, resolved, and not_known are over; did_not_help and made_worse describe the outcome of the last fix.
# not_known: the node sent no more data.
IncidentState = Literal[
    "open", "acknowledged", "fix_applied", "did_not_help", "made_worse", "verified", "resolved", "not_known"
]  # fmt: skip


class SubjectRef(Schema):
    resource_id: int
    kind: str
    key: str
    name: str  # what people call it: "kube-system/coredns-7c9/coredns", or the cgroup path
    node: str


class IncidentRef(Schema):
    """A short reference to an incident."""

    id: int
    title: str
    severity: Severity
    state: IncidentState


class AffectedSubject(SubjectRef):
    """Another subject with the same fault at the same time: part of this incident, not one of its own."""

    first_at: datetime
    last_at: datetime
    impact: Impact
    figures: list[ImpactFigure]  # of the impact, those that tell subjects apart


class IncidentMute(Schema):
    """The mute in effect for an incident: the longest of those that cover it."""

    id: int
    by: str
    reason: str
    only_this: bool = Field(description="The mute covers only this incident")
    recurs: bool = Field(description="The mute applies in weekly hours")


class IncidentSummary(Schema):
    id: int
    cause: str
    cause_title: str
    title: str
    severity: Severity
    harm: Harm
    confidence: Confidence
    state: IncidentState
    muted: bool
    muted_until: datetime | None  # only with muted; None: until unmuted
    mute: IncidentMute | None  # only with muted
    subject: SubjectRef
    also_affected: list[AffectedSubject]
    opened_at: datetime
    onset_at: datetime  # the first throttled query, before we knew
    last_seen_at: datetime
    resolved_at: datetime | None
    occurrences: int  # how many diagnoses updated it
    impact: Impact  # values by id; what is not known is left out
    figures: list[ImpactFigure]  # the impact as it is shown


class Transition(Schema):
    id: int
    at: datetime
    actor: str  # "jitterscope" or a user's name
    action: Literal[
        "opened", "escalated", "acknowledged", "unacknowledged", "muted", "unmuted", "resolved", "reopened",
        "reclassified", "fix_applied", "fix_withdrawn", "verified", "did_not_help", "made_worse", "pinned", "unpinned",
        "noted", "spread", "not_known",
    ]  # fmt: skip
    detail: str | None
    author_id: int | None = Field(description="For a note: the member who wrote it and may change it")
    edited_at: datetime | None = Field(description="For a note: when its author changed or deleted it")
    deleted: bool = Field(description="For a note: its author deleted the text")


class Incident(IncidentSummary):
    namespace: str | None = Field(description="Namespace of the subject; null: not known")
    workload: str | None = Field(description="Deployment, StatefulSet …; null: not known")
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
    predictions: list[FixPrediction]  # by fix, as they were while the incident was open
    landings: list[FixLanding]  # by fix
    verification: Verification | None  # of the newest fix that was applied


class DiagnosisState(Schema):
    """The diagnosis of a resource's cgroup or node, `subject_id`; null if the resource has neither.

    `diagnosed_until`: the end of the newest data that were diagnosed. `triggered_at`: when a collector last triggered
    a diagnosis. Null: not within the last minutes. `next_at`: when the next diagnosis is planned; null: none is, unless
    something triggers one.
    """

    subject_id: int | None
    diagnosed_until: datetime | None
    triggered_at: datetime | None
    next_at: datetime | None


class Risk(Schema):
    """A finding without measured harm: listed, not notified. `harm` says whether harm was measured and is none."""

    id: int
    cause: str
    cause_title: str
    title: str
    summary: str
    harm: Harm
    harm_reason: str  # one sentence: what was measured, or why nothing was
    confidence: Confidence
    subject: SubjectRef
    first_seen_at: datetime
    last_seen_at: datetime
    impact: Impact
    figures: list[ImpactFigure]
    evidence: list[Evidence]
    fixes: list[Fix]


class MuteRequest(Schema):
    until: datetime | None = Field(default=None, description="null: until unmuted")
    reason: str | None = Field(default=None, max_length=500)


class NoteRequest(Schema):
    note: str | None = Field(default=None, max_length=2000)


class PinRequest(Schema):
    pinned: bool


class RivalInfo(Schema):
    id: str
    title: str


class CauseInfo(Schema):
    """A cause: what the fault is, how it works, and what it can be confused with."""

    id: str
    title: str
    summary: str
    mechanism: str
    needs: list[str]  # metric names
    rivals: list[RivalInfo]
    false_positives: list[str]
    references: list[str]


class TimelineCpu(Schema):
    """Ticks of 100 ms (10 ms when zoomed in) or points of several; parallel arrays, null where a tick is missing."""

    t_us: list[int]
    step_us: int
    tick_us: int  # less than step_us where a point holds several ticks
    cpu_ratio: list[float | None]  # CPUs used in a tick; of a point that of its highest tick
    cpu_mean_ratio: list[float | None] | None  # of a point over its ticks; None: points are ticks
    throttled_us: list[float | None]  # counted by the kernel in the tick, which is the one in which a stall ended
    throttled_periods: list[float | None]


class TimelineSpan(Schema):
    from_us: int
    to_us: int
    label: str
    attributes: dict[str, str]


class TimelineQueries(Schema):
    """One entry per answer. `t_us` is when its query or request reached the server, so answers that waited for the same
    moment form a staircase. `queue_wait_us` is -1 if not known. `complete` spans contain every answer of all servers;
    outside them only slow ones were kept."""

    t_us: list[int]
    latency_us: list[int]
    result: list[int]
    queue_wait_us: list[int] | None
    name: list[int]  # index into names
    names: list[str]
    complete: list[tuple[int, int]]
    truncated: int  # answers left out to keep the response under its point budget


class TimelineRate(Schema):
    """Per-tick counts and latency of all servers together, including where single queries or requests were not kept.

    Queries count in the tick in which they arrived, slow answers (over `slow_threshold_us`) and latencies in the tick
    in which the answer left."""

    t_us: list[int]
    step_us: int
    queries: list[float | None]
    slow: list[float | None]
    latency_p50_us: list[float | None]
    latency_max_us: list[float | None]


class TimelineLimit(Schema):
    from_us: int
    cpu_limit: float | None  # CPUs; None: no limit


class TimelineConnections(Schema):
    """Per-tick gauges of all the subject's DNS servers together; a point has its highest tick. Null: not measured."""

    t_us: list[int]
    step_us: int
    connections: list[float | None]  # established from clients, accepted or not
    idle: list[float | None]  # of these, without data for over 1 s
    children: list[float | None]  # of a dnsmasq: one for each TCP connection
    backlog: list[float | None]  # complete, but not accepted by the server
    dropped: list[float | None]  # connection attempts dropped in the point's ticks
    upstream: list[float | None]  # established to the servers that it asks
    upstream_idle: list[float | None]


class TimelineChildLimit(Schema):
    from_us: int
    limit: int


class TimelineLine(Schema):
    """Parallel to its lane's `t_us`; null where nothing is known. `hot`: values above `hot_above` are harmful."""

    name: str
    style: Literal["area", "line", "bars"]
    hot: bool
    hot_above: float  # in the lane's unit
    values: list[float | None]


class TimelineLaneLimit(Schema):
    from_us: int
    value: float | None  # in the lane's unit; None: no limit


class TimelineLane(Schema):
    """Lines of one unit on the picture's time axis; `t_us` need not be regular."""

    id: str
    title: str
    unit: Unit
    t_us: list[int]
    step_us: int
    lines: list[TimelineLine]
    limits: list[TimelineLaneLimit]  # steps over time


class TimelineMark(Schema):
    """Something that happened; `kind` is the kind of event."""

    from_us: int
    to_us: int
    label: str
    kind: str
    attributes: dict[str, str]


class TimelinePicture(Schema):
    """Everything that the incident picture shows, on one time axis [from_us, to_us)."""

    from_us: int
    to_us: int
    served: list[Literal["queries", "requests"]]  # what its servers are asked with: queries of DNS; empty: it has none
    cpu: TimelineCpu
    coarse: TimelineCpu | None  # ticks of 100 ms where `cpu` has 10 ms: there are some where no detail was kept
    limits: list[TimelineLimit]  # steps over time, from the fact history
    throttled: list[TimelineSpan]  # when it stood still, before the kernel counts it; attributes: stopped_ms, periods
    gc: list[TimelineSpan]
    queries: TimelineQueries
    rate: TimelineRate
    connections: TimelineConnections | None  # None: no connections or children were measured here
    child_limits: list[TimelineChildLimit]  # steps over time; the server serves no more TCP connections at once
    errors: list[TimelineSpan]  # error lines of the servers; label: the kind
    lanes: list[TimelineLane]  # as the cause's area declares them, what matters most first
    marks: list[TimelineMark]  # sorted by time
    slow_threshold_us: int
    notes: list[str]  # what is not known here and what it would need


class Timeline(TimelinePicture):
    """The picture and its subject."""

    subject: SubjectRef
