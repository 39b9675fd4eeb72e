"""The lab's figures, computed from what the product stored of the node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.core.sketch import quantile_us, value_of
from jitterscope.recordings.model import Recording
from jitterscope.series.types import StoredDistribution, StoredEvent
from labs.podstart.figures import Loaded, PodFigures
from labs.podstart.variants import OBJECTIVE_S

LOAD = "bpf.load"


def observed(node: Recording, programs: Sequence[Loaded]) -> PodFigures:
    """What the product saw of the pods' starts, and of the lab's own loads."""
    start = node.resources[0].distributions.get("pod_start_sli_us")
    if start is None or not start.count.sum():
        return PodFigures()
    starts = int(start.count.sum())
    loads = [found for one in programs if (found := event_of(node, one)) is not None]
    return PodFigures(
        starts=starts,
        late=int(start.count[value_of(start.bucket) > OBJECTIVE_S * 1e6].sum()),
        start_p50_ms=quantile_us(start.bucket, start.count, 0.5) / 1e3,
        start_max_ms=float(value_of(start.bucket[start.count > 0]).max()) / 1e3,
        total_p50_ms=_middle_ms(node, "pod_start_total_us"),
        image_ms=_mean_ms(node, "pod_image_pull_us"),
        sandbox_ms=_mean_ms(node, "pod_sandbox_us"),
        loads=len(loads),
        verifier_ms=sum(one.duration_us for one in loads) / 1e3 / starts,
        verified=sum(int(one.attributes.get("verified_instructions", "0")) for one in loads) / starts,
    )


def event_of(node: Recording, program: Loaded) -> StoredEvent | None:
    """The event of a load, from the node or the agent's cgroup: the one of that name within the loader's timing.

    The loader can lose its CPU between reading its clock and the call, for longer than a small load takes.
    """

    def overlap_us(event: StoredEvent) -> int:
        end_us = min(program.start_us + program.took_us, event.start_us + event.duration_us)
        return end_us - max(program.start_us, event.start_us)

    found = [
        event
        for resource in node.resources
        for event in resource.events
        if event.kind == LOAD and event.attributes.get("name") == program.name and overlap_us(event) >= 0
    ]
    return max(found, key=overlap_us, default=None)


def largest_error(node: Recording, sets: Sequence[Sequence[Loaded]], least_us: int = 50_000) -> float | None:
    """Largest relative error of a pod's load times against the loader's own clock; loads under `least_us` are left out.

    Loads are summed per pod: a loader that loses its CPU just before it reads its clock is off by some milliseconds.
    None without any.
    """
    errors = []
    for programs in sets:
        pairs = [
            (event.duration_us, one.took_us)
            for one in programs
            if one.took_us >= least_us and (event := event_of(node, one)) is not None
        ]
        if pairs:
            errors.append(abs(sum(seen for seen, _ in pairs) / sum(took for _, took in pairs) - 1))
    return round(max(errors), 4) if errors else None


def _distribution(node: Recording, metric: str) -> StoredDistribution | None:
    found = node.resources[0].distributions.get(metric)
    return found if found is not None and found.count.sum() else None


def _middle_ms(node: Recording, metric: str) -> float | None:
    found = _distribution(node, metric)
    return None if found is None else quantile_us(found.bucket, found.count, 0.5) / 1e3


def _mean_ms(node: Recording, metric: str) -> float | None:
    found = _distribution(node, metric)
    return None if found is None else float(np.average(value_of(found.bucket), weights=found.count)) / 1e3
