"""REST shapes of changes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, model_validator

from jitterscope.inventory.schemas import ResourceRef
from jitterscope.kit.schema import Schema

ChangeKind = Literal["deploy", "config", "scale", "other"]
# One line of text: control characters do not belong in a title, and a NUL cannot be stored.
_LINE = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
Line = Annotated[str, Field(min_length=1, max_length=200, pattern=_LINE)]
Name = Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[^\x00-\x20\x7f]+$")]
Link = Annotated[str, Field(max_length=2000, pattern=r"^https?://[^\x00-\x20\x7f]+$")]
SELECTORS = ("resource_id", "namespace", "workload", "node")


class ChangeReport(Schema):
    """A change and the selectors for what changed. At least one is required; all given ones must match."""

    title: Line = Field(examples=["Deploy cart"])
    kind: ChangeKind = "deploy"
    at: AwareDatetime | None = Field(default=None, description="When it took effect; null: now")
    version_from: Line | None = None
    version_to: Line | None = Field(default=None, examples=["1.12.0"])
    resource_id: int | None = Field(default=None, ge=1, lt=2**63)
    namespace: Name | None = Field(default=None, examples=["shop"])
    workload: Name | None = Field(
        default=None, description="`Deployment/cart` or `cart`; outside Kubernetes the container or systemd unit"
    )
    container: Name | None = Field(default=None, description="Only this container of the workload")
    node: Name | None = None
    link: Link | None = Field(default=None, examples=["https://ci.example.org/runs/42"])
    author: Line | None = None
    external_id: Line | None = Field(
        default=None, description="The sender's own id; a report repeated with the same id is stored once"
    )

    @model_validator(mode="after")
    def _is_of_something(self) -> ChangeReport:
        if all(getattr(self, name) is None for name in SELECTORS):
            raise ValueError(f"name what changed with at least one of {', '.join(SELECTORS)}")
        return self


class ChangeStep(Schema):
    """One changed setting, with readable old and new values; null: not set, or not known."""

    name: str = Field(description="Name of the fact: `cpu.quota_us`")
    title: str
    old: str | None
    new: str | None
    text: str = Field(description="`CPU limit 0.5 → 1 CPU`")


class Change(Schema):
    """A change. Fields that do not apply to its origin are null or empty."""

    id: int | None = Field(description="To delete a reported change by; null for a seen one")
    at: datetime
    origin: Literal["reported", "seen"] = Field(
        description="reported: by a pipeline or person; seen: in the history of facts"
    )
    kind: ChangeKind
    text: str = Field(description="`coredns v1.11.1 → v1.12.0`")
    what: str = Field(description="What changed: `shop/cart/cart`, `node worker-1`")
    resource: ResourceRef | None = Field(description="The one that changed last, of all that changed the same way")
    of: list[int] = Field(description="Those of the requested resources that the change applies to")
    node: ResourceRef | None
    rollout: bool = Field(description="For a seen change: new containers or processes replaced others")
    resources: int = Field(description="How many changed the same way")
    steps: list[ChangeStep] = Field(description="Changed settings of a seen change")
    version_from: str | None
    version_to: str | None
    link: str | None
    author: str | None
    external_id: str | None
    reported_by: str | None


class Changes(Schema):
    from_us: int
    to_us: int
    found: int
    complete: bool = Field(description="False: there are more resources or reports than were examined")
    items: list[Change] = Field(description="Newest first")
