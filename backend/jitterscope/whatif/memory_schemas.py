"""REST shapes of the what-if "so many queries at once, or so much memory"."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.diagnosis.finding import Interval
from jitterscope.kit.schema import Schema
from jitterscope.whatif.schemas import Instant


class MemoryChange(Schema):
    """What to try. null: as it was."""

    max_concurrent: int | None = Field(default=None, ge=1, le=10**7, description="Queries that may wait at once")
    limit_bytes: int | None = Field(default=None, ge=1 << 20, le=1 << 50, description="Memory limit")
    replicas: int = Field(default=1, ge=1, le=1000, description="Over how many servers the burst is spread")


class MemoryWhatIfRequest(Schema):
    """The newest burst of queries in the window, under other settings."""

    resource_id: int = Field(description="A cgroup, or a process or DNS server in one")
    from_: Instant | None = Field(default=None, alias="from", description="Default: ten minutes before `to`")
    to: Instant | None = Field(default=None, description="Default: the newest data of the node")
    settings: list[MemoryChange] = Field(default_factory=list, max_length=16)


class MeasuredBurst(Schema):
    """A burst as it was: memory is `base_bytes` plus `per_query_bytes` for each query that waits, plus garbage.

    `joining_per_s` more wait each second, until `ceiling` do (null: nothing bounds it); `bound` says what bounds it.
    """

    onset_us: int
    base_bytes: float
    per_query_bytes: Interval
    joining_per_s: float
    arrivals_per_s: float
    most_waiting: float
    usually_waiting: float
    ceiling: float | None
    bound: Literal["max_concurrent", "latency", "deadline", "none"]
    limit_bytes: float | None  # null: no limit


class MemoryPrediction(Schema):
    """`seconds_to_oom` from the beginning of the burst, null where the limit is not reached.

    `peak_bytes` without page cache and without regard to the limit; null where nothing bounds it.
    """

    max_concurrent: int | None
    limit_bytes: float | None
    replicas: int
    waiting: float | None
    outcome: Literal["killed", "may_be_killed", "survives"]
    seconds_to_oom: Interval | None
    peak_bytes: Interval | None


class MemoryWhatIf(Schema):
    """`recommended_…` keep a fifth of the limit free; null where there is none, or nothing of that kind is enough."""

    resource_id: int
    from_us: int
    to_us: int
    burst: MeasuredBurst | None
    predictions: list[MemoryPrediction]
    recommended_max_concurrent: int | None  # of each forward block
    recommended_limit_bytes: int | None
    recommended_replicas: int | None
    cannot_tell: str | None
