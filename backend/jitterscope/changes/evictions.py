"""Pods that had to leave a node, as changes of the node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy.orm import Session

from jitterscope.changes.types import Seen
from jitterscope.diagnosis.verification.changes import Step
from jitterscope.inventory.types import ResourceRow
from jitterscope.series import service as series
from jitterscope.series.types import StoredEvent

EVENT = "pod.evicted"
_MOST = 500
# The kubelet evicts one pod after another until it has enough; a drain evicts all at once.
_TOGETHER_US = 60 * 1_000_000
_NAMED = 3
_BY_KUBELET = "by the kubelet"
_WHY = {
    "TerminationByKubelet": _BY_KUBELET,
    "Evicted": _BY_KUBELET,
    "EvictionByEvictionAPI": "through the API",
    "DeletionByTaintManager": "because of a taint",
    "PreemptionByScheduler": "for a pod of higher priority",
}


def seen(session: Session, nodes: Sequence[ResourceRow], from_us: int, to_us: int) -> Iterator[Seen]:
    """Evictions of a window; those of one node that follow each other for the same reason are one change."""
    by_id = {node.id: node for node in nodes}
    found = series.read_events(session, sorted(by_id), from_us, to_us + 1, [EVENT], _MOST)
    for node_id, events in found.items():
        for together in _groups([one for one in events if one.start_us >= from_us]):
            step = Step(EVENT, "Evicted", None, None, _text(together))
            yield Seen(together[0].start_us, by_id[node_id], by_id[node_id], None, False, 1, (step,))


def _groups(events: Sequence[StoredEvent]) -> Iterator[list[StoredEvent]]:
    by_reason: dict[str, list[StoredEvent]] = {}
    for event in events:
        by_reason.setdefault(_reason(event), []).append(event)
    for same in by_reason.values():
        group = same[:1]
        for event in same[1:]:
            if event.start_us - group[-1].start_us > _TOGETHER_US:
                yield group
                group = []
            group.append(event)
        yield group


def _reason(event: StoredEvent) -> str:
    """ "by the kubelet: The node was low on resource: memory"."""
    told = event.attributes.get("reason", "")
    why = _WHY.get(told, told)
    if why != _BY_KUBELET:
        return why
    first = event.attributes.get("message", "").partition(". ")[0].rstrip(".")
    return f"{why}: {first}" if first else why


def _text(events: Sequence[StoredEvent]) -> str:
    names = ["/".join(filter(None, map(one.attributes.get, ("namespace", "pod")))) for one in events]
    more = len(names) - _NAMED
    listed = ", ".join(names[:_NAMED]) + (f", and {more} more" if more > 0 else "")
    return f"{listed} evicted {_reason(events[0])}"
