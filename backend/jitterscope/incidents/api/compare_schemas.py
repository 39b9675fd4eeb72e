"""REST shapes of comparisons."""

from __future__ import annotations

from pydantic import Field

from jitterscope.diagnosis.core.finding import Interval
from jitterscope.diagnosis.core.quantity import Better, Unit
from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Schema


class ComparedSide(Schema):
    """What is compared, and when."""

    resource: ResourceRef
    subject: ResourceRef = Field(description="The container or node that is measured: the resource, or what it is in")
    node: ResourceRef
    from_us: int
    to_us: int
    blocks: int = Field(description="Blocks of 10 s with data; 0: nothing was recorded")


class ComparedMeasure(Schema):
    """One figure of both sides."""

    metric: str
    title: str
    unit: Unit
    better: Better
    this: float
    other: float
    ratio: Interval | None = Field(description="this / other with its 90 % interval (bootstrap over blocks)")
    p_value: float | None = Field(description="Two-sided: that both are the same; null: no test, a single figure each")
    adjusted_p: float | None = Field(description="The same with an allowance for all figures that were tested (Holm)")
    test: str | None
    differs: bool = Field(description="adjusted_p is below 0.05, and the difference is large enough to notice")


class ComparedLoad(Schema):
    """What both sides had to do, means."""

    id: str
    unit: str
    this: float
    other: float


class Comparison(Schema):
    this: ComparedSide
    other: ComparedSide
    measures: list[ComparedMeasure] = Field(description="Surest differences first; empty without data on both sides")
    loads: list[ComparedLoad]
