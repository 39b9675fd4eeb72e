"""REST shapes of containers. Times are µs since the epoch; None: not measured."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Page, Schema

Order = Literal["name", "node", "throttled", "worst", "peak", "mean", "limit", "memory", "seen"]


class WorstTick(Schema):
    """The tick that most throttled time was credited to: the kernel credits a stall when it ends."""

    at_us: int = Field(description="Start of the tick")
    span_us: int = Field(
        description="100000: the tick; 60000000: its minute, where ticks are no longer kept or not at hand"
    )
    throttled_us: int = Field(description="Credited to the tick, added up over CPUs")


class ContainerItem(ResourceRef):
    """A container, or any other cgroup, and what it did in the window."""

    node: ResourceRef
    namespace: str | None
    pod: str | None
    container: str | None
    active: bool = Field(description="Seen in the last 5 min of the window; if not, gone since `last_seen_at`")
    last_seen_at: datetime
    cpu_limit: float | None = Field(description="CPUs, at the end of the window; null: no limit, or unknown")
    cpu_used: float | None = Field(description="CPUs in use, mean")
    cpu_peak: float | None = Field(description="CPUs in use, highest 100 ms")
    throttled_us: int | None = Field(description="Throttled time of the window, added up over CPUs")
    throttled_ratio: float | None = Field(description="Share of CFS periods that ended throttled, 0 to 1")
    worst_tick: WorstTick | None = Field(description="Null: not throttled in the window, or not measured")
    memory_peak_bytes: float | None
    peaks: list[float | None] = Field(description="CPUs in the highest 100 ms of each step from `from_us` on")
    throttled: list[bool] = Field(description="Of the same steps, whether the container was throttled in it")


class Containers(Page[ContainerItem]):
    from_us: int
    to_us: int
    step_us: int = Field(description="Whole minutes: time of one step of `peaks`")
    found: int = Field(description="Containers that match")
    compared: int = Field(description="Of these, how many were looked at: those throttled or seen last")
    listed: int = Field(description="Of these, how many the list has; fewer with `throttled`")
