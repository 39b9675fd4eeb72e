"""A change as other domains see it, whatever told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jitterscope.changes.models import ChangeRow
from jitterscope.diagnosis.verification.changes import Step
from jitterscope.inventory.types import ResourceRow

Kind = Literal["deploy", "config", "scale", "other"]


@dataclass(frozen=True, slots=True)
class Seen:
    """By facts: `subject` is the resource that changed last of the `resources` that changed in the same way, `at_us`
    when the first of them did."""

    at_us: int
    subject: ResourceRow
    node: ResourceRow
    workload: str | None
    is_rollout: bool
    resources: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """`text` says what was changed, `what` of whom; `resource` where that is a single one. One of `seen` and `reported`
    is there. `of`: those of the resources that were asked for whose change it is."""

    at_us: int
    kind: Kind
    text: str
    what: str
    resource: ResourceRow | None
    seen: Seen | None = None
    reported: ChangeRow | None = None
    of: tuple[int, ...] = ()
