"""One history for a restarted container: each start gives it a new cgroup with no history of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.core.snapshot import Distribution, ResourceView


def joined(own: ResourceView, others: Iterable[ResourceView]) -> ResourceView:
    """A container's cgroup with what its other cgroups recorded; they never run at the same time.

    Settings come from `own`: they cannot change between two starts in one pod.
    """
    others = list(others)
    begins = sorted(tick for view in (own, *others) if (tick := _begin(view)) is not None)
    series, spread, events = dict(own.series), dict(own.distributions), list(own.events)
    for one in others:
        for name, recorded in one.series.items():
            kept = series.get(name)
            series[name] = recorded if kept is None else np.where(np.isfinite(kept), kept, recorded)
        for name, counted in one.distributions.items():
            before = spread.get(name)
            spread[name] = counted if before is None else _joined(before, counted)
        events += one.events
    events.sort(key=lambda event: event.start_us)
    return replace(own, series=series, distributions=spread, events=tuple(events), starts=tuple(begins[1:]))


def _begin(view: ResourceView) -> int | None:
    """The first tick with recorded data of a cgroup; None if it has none."""
    known = [np.flatnonzero(np.isfinite(values)) for values in view.series.values()]
    return min((int(ticks[0]) for ticks in known if len(ticks)), default=None)


def _joined(one: Distribution, other: Distribution) -> Distribution:
    tick = np.concatenate([one.tick, other.tick])
    order = np.argsort(tick, kind="stable")
    bucket, count = np.concatenate([one.bucket, other.bucket]), np.concatenate([one.count, other.count])
    return Distribution(tick[order], bucket[order], count[order])
