"""REST shapes of what-if: settings to try on a recorded window, and what each would have made of it.

Window bounds and chart columns are µs since the epoch, UTC; everything else names its unit.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from jitterscope.diagnosis.finding import Interval
from jitterscope.incidents.schemas import SubjectRef
from jitterscope.kit.schema import Schema

Instant = Annotated[
    int | str, Field(union_mode="left_to_right", description="RFC 3339 with a time zone, or µs since the epoch")
]
WhatIfMetric = Literal["throttled_ms_per_min", "throttled_ratio", "slow_ratio", "p50_ms", "p99_ms", "gc_cycles_per_min"]
SearchParameter = Literal["cpu_limit", "burst_us", "gomaxprocs"]


class SettingChange(Schema):
    """What to try. A field that is left out stays as recorded.

    null means no CPU limit, GOGC off, no GOMEMLIMIT; for the other fields the same as leaving it out.
    """

    cpu_limit: float | None = Field(default=None, gt=0, le=4096, description="CPUs; null: no limit")
    period_us: int | None = Field(default=None, ge=1_000, le=1_000_000)
    burst_us: int | None = Field(default=None, ge=0, le=4_096_000_000, description="At most the quota")
    gomaxprocs: int | None = Field(default=None, ge=1, le=4096)
    gogc: float | None = Field(default=None, gt=0, le=100_000, description="Percent; null: off")
    gomemlimit_bytes: int | None = Field(default=None, ge=1 << 20, le=1 << 50, description="null: none")


class SearchGoal(Schema):
    """The least of each parameter that brings `metric` to `at_most`, all else as recorded."""

    metric: WhatIfMetric
    at_most: float = Field(ge=0, le=1e9)


class WhatIfRequest(Schema):
    resource_id: int = Field(description="A cgroup, or a process or DNS server in one")
    from_: Instant | None = Field(default=None, alias="from", description="Default: ten minutes before `to`")
    to: Instant | None = Field(default=None, description="Default: the newest data of the node")
    settings: list[SettingChange] = Field(default_factory=list, max_length=16)
    timeline: bool = False
    points: int = Field(default=1_200, ge=10, le=6_000, description="Points of each simulated line at most")
    search: SearchGoal | None = None


class WhatIfSetting(Schema):
    """A whole setting. null: no CPU limit; no Go program (gomaxprocs); GOGC off; no GOMEMLIMIT."""

    cpu_limit: float | None
    period_us: int
    burst_us: int
    gomaxprocs: int | None
    gogc: float | None
    gomemlimit_bytes: int | None


class WhatIfTimeline(Schema):
    """Parallel columns over the window; where points were merged the largest CPU and latency, the sum of the rest."""

    t_us: list[int]
    step_us: int
    cpu_ratio: list[float | None]  # CPUs used
    throttled_us: list[float | None]  # simulated: time the group stood still; recorded: as the kernel counted it
    latency_max_us: list[float | None]  # of queries that arrived then
    gc: list[tuple[int, int]]  # start and end of each cycle


class RecordedFigures(Schema):
    """What was measured over the window, to hold predictions against. null: not measured there."""

    seconds: float  # with data
    queries: int | None
    throttled_ms_per_min: float | None
    throttled_ratio: float | None  # of periods, 0..1
    slow_ratio: float | None  # of queries, 0..1
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    gc_cycles_per_min: float | None
    cpu_mean: float | None  # CPUs


class Recorded(Schema):
    setting: WhatIfSetting
    figures: RecordedFigures
    timeline: WhatIfTimeline | None


class WhatIfPrediction(Schema):
    """90 % intervals. An entry is null where the recording does not carry it; `cannot_tell` then says why."""

    setting: WhatIfSetting
    throttled_ms_per_min: Interval | None
    throttled_ratio: Interval | None
    slow_ratio: Interval | None
    p50_ms: Interval | None
    p99_ms: Interval | None
    max_ms: Interval | None
    gc_cycles_per_min: Interval | None
    cpu_mean: Interval | None
    cannot_tell: str | None
    notes: list[str]
    timeline: WhatIfTimeline | None


class SearchResult(Schema):
    """The least `value` of one parameter that meets the goal; null where none does, and `sentence` says why."""

    parameter: SearchParameter
    value: float | None  # CPUs, µs, threads
    sentence: str
    prediction: WhatIfPrediction | None


class WhatIf(Schema):
    """`predictions` are parallel to the request's `settings`."""

    resource_id: int  # the cgroup that was replayed
    subject: SubjectRef
    from_us: int
    to_us: int
    slow_threshold_us: int
    node_cpus: float | None  # bounds what runs at once; null: not known
    recorded: Recorded
    predictions: list[WhatIfPrediction]
    search: list[SearchResult] | None
    notes: list[str]  # about the window: missing data, what would need more of it
