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
    type: str = Field(description="As its sender declares it, else by the name: counter, gauge, histogram, summary, …")
    unit: Unit = Field(description="As declared, else by the name; 1: not known, or none")
    help: str | None = Field(description="What its sender says it means")
    view: View = Field(description="What it is looked at as: counters as rate, buckets of a histogram as quantiles")
    series: int
    last_seen: datetime = Field(description="When the newest samples came, to the hour")


class MetricNames(Page[MetricName]):
    found: int = Field(description="Names that match, on all pages")
    series: int = Field(description="Series of all of them")


class LabelValue(Schema):
    value: str
    series: int


class MetricLabel(Schema):
    name: str
    found: int = Field(description="Different values; where more than are listed, narrow the filter")
    values: list[LabelValue] = Field(description="Those of most series first, 100 at most")


class MetricLine(Schema):
    name: LineName
    values: list[float | None] = Field(description="One per point; null: no sample, or no observation")


class MetricSeries(Schema):
    labels: dict[str, str]
    resource: ResourceRef = Field(description="What its samples belong to")
    series: int = Field(description="Stored series that it is computed from: the buckets of a histogram are one each")
    lines: list[MetricLine] = Field(description="Of raw: low, mean, high. Empty: no samples in the window")


class MetricCharts(Page[MetricSeries]):
    """A page of label sets on one grid: point i starts at start_us + i * step_us."""

    name: str
    type: str
    unit: Unit = Field(description="Of the values; of a rate it is per second")
    help: str | None
    view: View
    from_us: int
    to_us: int
    start_us: int
    step_us: int
    found: int = Field(description="Label sets that match, on all pages")
    narrow: str | None = Field(description="Where there are more than on this page: what would narrow them")


class Sender(Schema):
    """A program that sends with an ingest token."""

    token: str
    agent: str = Field(description="As its User-Agent names it: Prometheus/2.42.0")
    first_at: datetime
    last_at: datetime
    requests: int
    samples: int
    samples_per_s: float = Field(description="Of the last full minute")
    not_written: int = Field(description="Series and native histograms that could not be stored")
    newest_sample: datetime | None


class Received(Schema):
    """What comes by remote write."""

    senders: list[Sender] = Field(description="Those that sent last first, 50 at most")
    senders_found: int
    series: int = Field(description="Series with samples in the last two hours")
    metrics: int = Field(description="Names of these")
    samples_per_s: float = Field(description="Of the last full minute, of the senders listed")
    newest_sample: datetime | None


class SenderSetup(Schema):
    """How a program is set up to send here."""

    name: str
    title: str
    file: str = Field(description="Where the text belongs")
    text: str = Field(description="With TOKEN where the secret of an ingest token belongs")
    next: str = Field(description="What to do then")
