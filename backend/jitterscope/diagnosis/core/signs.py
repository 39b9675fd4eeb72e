"""Signs of a cause: read first, and alone. If there are none, nothing else has to be read.

    CAUSE = Cause(..., signs=Signs(("cpu_throttled_periods",), throttled))

A look at a subject without triggers reads the signs of all causes, a tenth of what a diagnosis reads, and ends there
unless one shows. That rules nothing out: it says that no cause would find anything in this window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot


@dataclass(frozen=True, slots=True)
class Signs:
    """`reads` names everything that `shown` uses besides facts: metrics, distributions, and kinds of events.

    `shown` must be true wherever `detect` could find the cause. It sees a narrow snapshot: the subject, its ancestors,
    its servers, and the node, with these metrics and with facts; its processes and the node's other DNS servers with
    metrics alone; if the subject is a node, one event of each kind that happened anywhere on it, without attributes.
    """

    reads: tuple[str, ...]
    shown: Callable[[Snapshot], bool]


def shows(views: Iterable[ResourceView], *metrics: str, least: float = 0.0) -> bool:
    """Whether any of the metrics exceeds `least` in any tick."""
    return any((view.series[name] > least).any() for view in views for name in metrics if name in view.series)


def peak(views: Iterable[ResourceView], metric: str) -> float:
    """The sum of the resources' peaks of a metric: an upper bound for any tick of their sum."""
    known = (view.series[metric] for view in views if metric in view.series)
    return float(sum(float(np.nanmax(values)) for values in known if np.isfinite(values).any()))


def total(views: Iterable[ResourceView], metric: str) -> float:
    """The sum of a metric over the window and the resources; missing ticks are 0."""
    return float(sum(float(np.nansum(view.series[metric])) for view in views if metric in view.series))


def by_second(snapshot: Snapshot, view: ResourceView, metric: str) -> FloatArray:
    """Sums of ten ticks each, from the start of the window; missing ticks are 0."""
    values = view.series.get(metric)
    starts = np.arange(0, snapshot.ticks, 10)
    return np.zeros(len(starts)) if values is None else np.add.reduceat(np.nan_to_num(values), starts)


def happened(snapshot: Snapshot, kind: str) -> bool:
    """Whether there was an event of this kind on the node."""
    return any(event.kind == kind for event in snapshot.node.events)
