"""REST shapes of series. Chart columns are µs since the epoch and parallel arrays; None where nothing was measured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from jitterscope.kit.schema import Schema


class SeriesChart(Schema):
    resource_id: int
    metric: str
    labels: dict[str, str] = Field(default={}, description="Only for series from Prometheus remote write")
    unit: str
    kind: Literal["delta", "gauge", "distribution", "counter"]
    meaning: str
    step_us: int = Field(description="Time covered by one point")
    resolution: Literal["tick", "second", "five_seconds", "minute", "sample"] = Field(
        description="Source of the points"
    )
    t_us: list[int] = Field(description="Start of each point")
    low: list[float | None] = Field(description="Lowest tick of the point; for a distribution its median")
    high: list[float | None] = Field(description="Highest tick of the point; for a distribution its highest value")
    mean: list[float | None] = Field(description="Mean of the ticks; for a distribution its p99")
    count: list[int] | None = Field(description="Observations in the point; only for distributions")


class LeftOut(Schema):
    """A remote-write metric with more label sets than fit in one response: GET /metrics/series pages through them."""

    metric: str
    found: int = Field(description="Label sets of the metric at this resource")
    read: int = Field(description="Of these, how many are in this response")


class SeriesCharts(Schema):
    from_us: int
    to_us: int
    series: list[SeriesChart]
    left_out: list[LeftOut] = Field(description="Metrics that are only partly included")


class EventItem(Schema):
    id: int
    resource_id: int
    kind: str
    start_us: int
    duration_us: int
    attributes: dict[str, str]


class RetentionPolicy(Schema):
    """How long data are kept; each level at least as long as the finer one."""

    raw_days: int = Field(ge=1, le=1000, description="Ticks, single queries, latency distributions")
    second_days: int = Field(ge=1, le=1000, description="1 s and 5 s rollups and events")
    minute_days: int = Field(ge=1, le=1000, description="1 min rollups")


class RetentionState(RetentionPolicy):
    """How long data are kept now, and the maximum that this installation allows."""

    most: RetentionPolicy
