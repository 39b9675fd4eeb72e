"""REST shapes of objectives."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field

from jitterscope.diagnosis.core.objective import GRAMMAR, BadObjective, Origin, parse
from jitterscope.kit.schema import Schema


def _written(text: str) -> str:
    try:
        return str(parse(text))
    except BadObjective as error:
        raise ValueError(str(error)) from None


# The pattern is only in the schema: validation errors are explained in words.
ObjectiveText = Annotated[
    str, AfterValidator(_written), Field(examples=["p99<50ms"], json_schema_extra={"pattern": GRAMMAR})
]


class ObjectiveRequest(Schema):
    objective: ObjectiveText = Field(description="`p50|p90|p95|p99|p99.9 < N ms|s`")


class ResourceObjective(Schema):
    """The objective that decides which answers of a server, or of the servers of a cgroup, are slow."""

    resource_id: int
    objective: str | None = Field(
        description="In effect: `p99<50ms`. Null: answers over 20 ms and far above the median are slow"
    )
    origin: Origin | None = Field(description="Set for this port, for the whole workload, or by the pod's annotation")
    quantile: float | None
    limit_us: int | None
    own: bool = Field(description="The objective was set for this resource and can be removed here")
    set_by: str | None
    set_at: datetime | None
    annotation: str | None = Field(
        description="`jitterscope.io/objective` of the pod; an objective set here takes precedence"
    )
    annotation_problem: str | None = Field(description="Why the annotation is not an objective")
    applies_to: str = Field(description="What an objective set here applies to, in words")
