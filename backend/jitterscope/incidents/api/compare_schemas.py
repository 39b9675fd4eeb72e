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
    subject: ResourceRef = Field(description="The measured container or node: the resource itself, or what it runs in")
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
    p_value: float | None = Field(
        description="Two-sided test that both are the same; null: no test, one figure per side"
    )
    adjusted_p: float | None = Field(description="p_value corrected for the number of tested figures (Holm)")
    test: str | None
    differs: bool = Field(description="adjusted_p is below 0.05, and the difference is large enough to notice")


class ComparedLoad(Schema):
    """The mean load of both sides."""

    id: str
    unit: str
    this: float
    other: float


class Comparison(Schema):
    this: ComparedSide
    other: ComparedSide
    measures: list[ComparedMeasure] = Field(
        description="Most certain differences first; empty without data on both sides"
    )
    loads: list[ComparedLoad]
