"""REST shapes of metrics that came by Prometheus remote write."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Page, Schema

View = Literal["raw", "rate", "quantiles"]
LineName = Literal["low", "mean", "high", "rate", "p50", "p90", "p99"]
Unit = Literal["1", "s", "bytes", "ratio"]


class MetricName(Schema):
    name: str
    type: str = Field(description="As its sender declares it, else derived from the name: counter, gauge, histogram, …")
    unit: Unit = Field(description="As declared, else derived from the name; 1: not known, or none")
    help: str | None = Field(description="Description from its sender")
    view: View = Field(description="Default view: counters as a rate, buckets of a histogram as quantiles")
    series: int
    last_seen: datetime = Field(description="When the newest samples arrived, to the hour")


class MetricNames(Page[MetricName]):
    found: int = Field(description="Names that match, on all pages")
    series: int = Field(description="Series of all of them")


class LabelValue(Schema):
    value: str
    series: int


class MetricLabel(Schema):
    name: str
    found: int = Field(description="Distinct values; if not all are listed, narrow the filter")
    values: list[LabelValue] = Field(description="Values of most series first, at most 100")


class MetricLine(Schema):
    name: LineName
    values: list[float | None] = Field(description="One per point; null: no sample, or no observation")


class MetricSeries(Schema):
    labels: dict[str, str]
    resource: ResourceRef = Field(description="What its samples belong to")
    series: int = Field(description="Stored series that it is computed from; each bucket of a histogram is one")
    lines: list[MetricLine] = Field(description="For raw: low, mean, high. Empty: no samples in the window")


class MetricCharts(Page[MetricSeries]):
    """A page of label sets on one grid: point i starts at start_us + i * step_us."""

    name: str
    type: str
    unit: Unit = Field(description="Unit of the values; for a rate, per second")
    help: str | None
    view: View
    from_us: int
    to_us: int
    start_us: int
    step_us: int
    found: int = Field(description="Label sets that match, on all pages")
    narrow: str | None = Field(description="If there are more than on this page: how to narrow the filter")


class Sender(Schema):
    """A program that sends with an ingest token."""

    token: str
    agent: str = Field(description="From its User-Agent: Prometheus/2.42.0")
    first_at: datetime
    last_at: datetime
    requests: int
    samples: int
    samples_per_s: float = Field(description="Mean of the last full minute")
    not_written: int = Field(description="Series and native histograms that could not be stored")
    newest_sample: datetime | None


class Received(Schema):
    """What arrives by remote write."""

    senders: list[Sender] = Field(description="Most recent first, at most 50")
    senders_found: int
    series: int = Field(description="Series with samples in the last two hours")
    metrics: int = Field(description="Distinct names of these")
    samples_per_s: float = Field(description="Mean of the last full minute, of the listed senders")
    newest_sample: datetime | None
