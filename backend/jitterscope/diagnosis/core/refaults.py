"""File pages that a cgroup at its memory limit reads again and again because it had to drop them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.signals import has, number, series
from jitterscope.diagnosis.core.snapshot import FloatArray, ResourceView, Snapshot
from jitterscope.diagnosis.core.stats import BoolArray, dilate

REFAULTS = "memory_refaults"
PAGE_BYTES = 4096
# A cgroup drops pages because of its own limit if its usage is this close to it.
NEAR = 0.9
# Fewer pages per second do not explain waiting: any cgroup at its limit has them.
MANY_PER_S = 30.0


@dataclass(frozen=True, slots=True)
class Refaults:
    """Refaults of the cgroup whose memory limit is nearest.

    `pages` is counted once a second (NaN between); `limit_bytes` +inf: none. `at_limit`: usage relative to the limit
    (0..1), median of the seconds with refaults; NaN without any.
    """

    owner: ResourceView
    pages: FloatArray
    limit_bytes: float
    at_limit: float

    @property
    def total(self) -> float:
        return float(np.nansum(self.pages))

    def per_s(self, spans: BoolArray, step_us: int) -> float:
        """Pages per second around these ticks."""
        near = dilate(spans, 0, max(1, 1_000_000 // step_us))
        seconds = float(near.sum()) * step_us / 1e6
        return float(np.nansum(self.pages[near])) / seconds if seconds else 0.0

    def explains(self, spans: BoolArray, step_us: int) -> bool:
        """Whether many pages that its own limit made it drop are read again during these ticks."""
        return self.at_limit >= NEAR and self.per_s(spans, step_us) >= MANY_PER_S


@reading
def read_refaults(snapshot: Snapshot) -> Refaults | None:
    """The refaults of the cgroup nearest its limit; None if they were not recorded."""
    views = [view for view in (snapshot.subject, *snapshot.ancestors) if has(view, REFAULTS)]
    if not views:
        return None
    owner = min(views, key=lambda view: _room(snapshot, view))
    pages = series(owner, REFAULTS, snapshot.ticks)
    limit = number(owner.fact("memory.limit_bytes"))
    limit = limit if limit is not None and limit > 0 else float("inf")
    usage = series(owner, "memory_usage_bytes", snapshot.ticks)
    known = usage[dilate(np.nan_to_num(pages) > 0, 9, 0) & np.isfinite(usage)]
    at_limit = float(np.median(known)) / limit if len(known) else float("nan")
    return Refaults(owner, pages, limit, at_limit)


def _room(snapshot: Snapshot, view: ResourceView) -> float:
    limit = number(view.fact("memory.limit_bytes"))
    usage = series(view, "memory_usage_bytes", snapshot.ticks)
    if limit is None or limit <= 0 or not np.isfinite(usage).any():
        return float("inf")
    return limit - float(np.nanmax(usage))
