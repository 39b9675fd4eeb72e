"""A change as other domains see it, whatever its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jitterscope.changes.models import ChangeRow
from jitterscope.diagnosis.verification.changes import Step
from jitterscope.inventory.types import ResourceRow

Kind = Literal["deploy", "config", "scale", "other"]


@dataclass(frozen=True, slots=True)
class Seen:
    """A change seen in facts.

    `subject` is the resource that changed last of the `resources` that changed in the same way, `at_us` when the first
    of them did.
    """

    at_us: int
    subject: ResourceRow
    node: ResourceRow
    workload: str | None
    is_rollout: bool
    resources: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change from facts or from a report: either `seen` or `reported` is set.

    `text` says what was changed, `what` on which subject; `resource` is set if that is a single one. `of`: the
    requested resources that the change affects.
    """

    at_us: int
    kind: Kind
    text: str
    what: str
    resource: ResourceRow | None
    seen: Seen | None = None
    reported: ChangeRow | None = None
    of: tuple[int, ...] = ()
