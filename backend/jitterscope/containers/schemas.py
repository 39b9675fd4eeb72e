"""REST shapes of containers. Times are µs since the epoch; null: not measured."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Page, Schema

Order = Literal["name", "node", "throttled", "worst", "peak", "mean", "limit", "memory", "seen"]


class WorstTick(Schema):
    """The tick with the most throttled time. The kernel counts a stall in the tick in which it ends."""

    at_us: int = Field(description="Start of the tick")
    span_us: int = Field(description="100000: the tick; 60000000: its minute, if ticks are not available")
    throttled_us: int = Field(description="Throttled time counted in the tick, summed over CPUs")


class ContainerItem(ResourceRef):
    """A container, or any other cgroup, and its figures for the window."""

    node: ResourceRef
    namespace: str | None
    pod: str | None
    container: str | None
    active: bool = Field(description="Seen in the last 5 min of the window; if not, gone since `last_seen_at`")
    last_seen_at: datetime
    cpu_limit: float | None = Field(description="CPUs, at the end of the window; null: no limit, or unknown")
    cpu_used: float | None = Field(description="CPUs in use, mean")
    cpu_peak: float | None = Field(description="CPUs in use, highest 100 ms")
    throttled_us: int | None = Field(description="Throttled time of the window, summed over CPUs")
    throttled_ratio: float | None = Field(description="Share of CFS periods that ended throttled, 0 to 1")
    worst_tick: WorstTick | None = Field(description="Null: not throttled in the window, or not measured")
    memory_peak_bytes: float | None
    peaks: list[float | None] = Field(
        description="CPUs in use in the highest 100 ms of each step, starting at `from_us`"
    )
    throttled: list[bool] = Field(description="Whether the container was throttled, for the same steps")


class Containers(Page[ContainerItem]):
    from_us: int
    to_us: int
    step_us: int = Field(description="Length of one step of `peaks`, a multiple of 1 min")
    found: int = Field(description="Containers that match")
    compared: int = Field(description="Of these, how many were examined: the most recently throttled, then seen")
    listed: int = Field(description="Of these, how many are listed; fewer with `throttled`")
