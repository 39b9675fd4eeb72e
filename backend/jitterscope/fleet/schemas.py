"""REST shapes of the fleet. Times are µs since the epoch where named so; None: not measured."""

from __future__ import annotations

from pydantic import Field

from jitterscope.containers.schemas import WorstTick
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Schema


class FleetContainer(ResourceRef):
    """A container and its worst 100 ms in the window."""

    node: ResourceRef
    namespace: str | None
    pod: str | None
    container: str | None
    cpu_limit: float | None = Field(description="CPUs, at the end of the window; null: no limit, or unknown")
    cpu_peak: float | None = Field(description="CPUs in use, highest 100 ms")
    throttled_us: int | None = Field(description="Throttled time of the window, summed over CPUs")
    worst_tick: WorstTick | None = Field(description="Null: not throttled in the window, or not measured")


class Fleet(Schema):
    """Containers of the last hour, and how many of them were measured."""

    from_us: int
    to_us: int
    found: int = Field(description="Containers seen in the last 5 min")
    compared: int = Field(description="Of these, how many were examined: the most recently throttled, then seen")
    throttled: int = Field(description="Of those examined, how many were throttled in the window")
    unmeasured: int = Field(description="Of those examined, how many have no throttling measured")
    timed: int = Field(description="Of those examined, how many have a server whose answers are timed")
    timed_is_least: bool = Field(description="True: not all servers were examined, so more might be timed")
    containers: list[FleetContainer] = Field(description="Worst tick first")
