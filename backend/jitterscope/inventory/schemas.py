"""REST shapes of resources and collectors."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from jitterscope.inventory.types import ResourceKind
from jitterscope.kit.schema import Page, Schema


class ResourceRef(Schema):
    id: int
    kind: ResourceKind
    key: str
    name: str


class ResourceUsage(Schema):
    """Figures of the last minute. Null: not measured."""

    cpu_used: float | None = Field(description="CPUs in use, mean")
    cpu_peak: float | None = Field(description="CPUs in use, highest 100 ms")
    throttled_ratio: float | None = Field(description="Share of CFS periods that ended throttled, 0 to 1")
    memory_bytes: float | None
    queries_per_second: float | None = Field(description="For DNS servers only")
    requests_per_second: float | None = Field(description="For TCP servers only")


class ResourceItem(ResourceRef):
    node: ResourceRef
    parent_id: int | None
    first_seen_at: datetime
    last_seen_at: datetime
    active: bool = Field(description="Seen in the last 5 min; if not, gone since last_seen_at")
    throttled: bool = Field(description="Throttled in the last 15 min")
    throttled_at: datetime | None
    cpu_limit: float | None = Field(description="CPUs; null: no limit, or unknown")
    memory_limit_bytes: float | None
    usage: ResourceUsage


class FactItem(Schema):
    name: str
    value: str
    since: datetime
    meaning: str | None


class SourceItem(Schema):
    name: str
    state: Literal["active", "degraded", "unavailable"]
    detail: str = Field(description="What is missing, or which fallback is used")
    needs: str = Field(description="The privilege or kernel version that would enable it")


class ResourceDetail(ResourceItem):
    ancestors: list[ResourceRef] = Field(description="From the parent up to the node")
    children: list[ResourceRef]
    facts: list[FactItem] = Field(description="In effect now")
    history: list[FactItem] = Field(description="Every change, oldest first")
    sources: list[SourceItem] = Field(description="Sources of the collector on its node")
    metrics: list[str] = Field(description="Names of the metrics that a resource of this kind has")


class CollectorItem(Schema):
    node: ResourceRef
    version: str
    state: Literal["receiving", "silent"] = Field(description="silent: no batch for 15 s")
    first_seen_at: datetime
    last_seen_at: datetime
    delay_ms: float = Field(description="From sealing the newest batch to its arrival; includes clock skew")
    lateness_max_ms: float | None = Field(description="Delay after its deadline of the latest tick in the last minute")
    cpu_used: float | None = Field(description="CPUs used by the collector, mean of the last minute")
    memory_bytes: float | None
    batches: int
    dropped_batches: int = Field(description="Batches that its bounded spool dropped")
    sources: list[SourceItem]


class Collectors(Page[CollectorItem]):
    found: int = Field(description="Collectors that have ever sent data")
    silent: int = Field(description="Of these, how many have sent no batch for 15 s")
