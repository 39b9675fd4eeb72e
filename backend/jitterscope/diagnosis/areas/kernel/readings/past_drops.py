"""How long earlier drops of dentries took on a node, from their findings: the basis for predicting the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jitterscope.diagnosis.core.signals import number
from jitterscope.diagnosis.core.snapshot import Event, Snapshot

PAST_DROP = "fs.past_drop"
NEWEST = 5
# Only these are a single task that does nothing else; reclaim also spends time on pages.
_ALONE = ("drops", "unmounts")


@dataclass(frozen=True, slots=True)
class PastDrop:
    """`weight` is its work, in negative dentries; `negative_ratio` of it were negative ones."""

    weight: float
    duration_us: float
    negative_ratio: float


def event_of(onset_us: int, numbers: Mapping[str, Mapping[str, float]]) -> Event | None:
    """A drop or an unmount with its duration, from the evidence of its finding; None for anything else."""
    freed, trigger = numbers.get("freed", {}), numbers.get("trigger", {})
    if not freed.get("weight") or not freed.get("duration_us") or not any(trigger.get(name) for name in _ALONE):
        return None
    attributes = {"weight": f"{freed['weight']:.0f}", "negative": f"{freed.get('negative', 0):.0f}"}
    return Event(PAST_DROP, onset_us, round(freed["duration_us"]), attributes)


def past_drops(snapshot: Snapshot) -> list[PastDrop]:
    """The drops before the window, oldest first."""
    return [drop for event in snapshot.node.events if (drop := _drop(event)) is not None]


def _drop(event: Event) -> PastDrop | None:
    if event.kind != PAST_DROP:
        return None
    weight, negative = number(event.attributes.get("weight")), number(event.attributes.get("negative"))
    if weight is None or weight <= 0 or negative is None or event.duration_us <= 0:
        return None
    return PastDrop(weight, float(event.duration_us), negative / weight)
