"""A recording in memory: everything that was stored of some resources in one window. Plain arrays, no database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jitterscope.captures.model import Capture
from jitterscope.inventory.types import FactRow, ResourceKind, SourceRow
from jitterscope.series.types import TICK_US, FloatArray, StoredDistribution, StoredEvent, StoredQueries


@dataclass(frozen=True, slots=True)
class RecordedResource:
    """One resource. `parent` is an index into the recording's resources; the node (index 0) is its own parent.

    `series` has one value per 100 ms tick of the window, `zoomed` one per 10 ms; NaN where a tick is missing.
    """

    kind: ResourceKind
    key: str
    name: str
    parent: int
    series: Mapping[str, FloatArray] = field(default_factory=dict)
    zoomed: Mapping[str, FloatArray] = field(default_factory=dict)
    distributions: Mapping[str, StoredDistribution] = field(default_factory=dict)
    facts: tuple[FactRow, ...] = ()
    events: tuple[StoredEvent, ...] = ()
    queries: StoredQueries | None = None


@dataclass(frozen=True, slots=True)
class RecordedCapture:
    """A flight recorder capture of a resource, an index into the recording's resources."""

    resource: int
    content: Capture


@dataclass(frozen=True, slots=True)
class Recording:
    """The window [start_us, start_us + ticks * 100 ms) of `resources`; node first, parents before children.

    `subject` is the index of the cgroup or node that a diagnosis is about. `labels` describe the origin: for a lab run
    its name, variant, parameters, and expected cause.
    """

    start_us: int
    ticks: int
    subject: int
    resources: tuple[RecordedResource, ...]
    sources: tuple[SourceRow, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    captures: tuple[RecordedCapture, ...] = ()

    @property
    def end_us(self) -> int:
        return self.start_us + self.ticks * TICK_US
