"""Pod starts, one by one, as the kubelet logs them (event pod.start)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.sketch import bucket_of
from jitterscope.diagnosis.core.snapshot import Distribution, Event, Snapshot

KIND = "pod.start"
# Which figure of an event replaces which histogram of the kubelet's metrics page.
STANDS_FOR = {"pod_start_sli_us": "sli_us", "pod_start_total_us": "total_us", "pod_image_pull_us": "image_pull_us"}


@dataclass(frozen=True, slots=True)
class StartedPod:
    """One pod; times in µs. `sli_us` is without image pulls; None: no image was pulled."""

    namespace: str
    pod: str
    created_us: int
    total_us: float
    sli_us: float
    image_pull_us: float | None


def events_of(snapshot: Snapshot) -> list[Event]:
    """Starts of the window, at the node or at the cgroup of the pod."""
    found = [event for view in (snapshot.node, *snapshot.cgroups) for event in view.events if event.kind == KIND]
    return sorted(found, key=lambda event: (event.end_us, event.attributes.get("pod", "")))


def started(snapshot: Snapshot) -> list[StartedPod]:
    """Pods with a measured time, in the order in which they ran."""
    pods = []
    for event in events_of(snapshot):
        sli = _number(event, "sli_us")
        if sli is not None:
            pods.append(
                StartedPod(
                    namespace=event.attributes.get("namespace", ""),
                    pod=event.attributes.get("pod", ""),
                    created_us=event.start_us,
                    total_us=_number(event, "total_us") or float(event.duration_us),
                    sli_us=sli,
                    image_pull_us=_number(event, "image_pull_us"),
                )
            )
    return pods


def distribution(snapshot: Snapshot, metric: str) -> Distribution | None:
    """A figure of the kubelet's metrics page, exact, each value in the tick in which its pod ran."""
    values = [
        (min(snapshot.ticks - 1, max(0, (event.end_us - snapshot.start_us) // snapshot.step_us)), value)
        for event in events_of(snapshot)
        if (value := _number(event, STANDS_FOR[metric])) is not None
    ]
    if not values:
        return None
    tick = np.array([at for at, _ in values], dtype=np.int64)
    bucket = bucket_of(np.array([value for _, value in values]))
    return Distribution(tick, bucket, np.ones(len(values), dtype=np.int64))


def _number(event: Event, name: str) -> float | None:
    text = event.attributes.get(name, "")
    return float(text) if text.isdecimal() else None
