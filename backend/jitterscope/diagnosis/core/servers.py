"""What the DNS servers of a subject recorded together: sums, and what is missing."""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot


def summed(snapshot: Snapshot, metric: str) -> FloatArray:
    """A metric summed over all servers of the subject, per tick; NaN where none has a value."""
    rows = [
        np.asarray(server.series[metric], dtype=np.float64)
        for server in snapshot.dns_servers
        if metric in server.series
    ]
    if not rows:
        return np.full(snapshot.ticks, np.nan)
    stack = np.stack(rows)
    return np.where(np.isfinite(stack).any(axis=0), np.nansum(stack, axis=0), np.nan)


def missing(snapshot: Snapshot, metrics: tuple[str, ...]) -> list[str]:
    """Metrics that no server of the subject (for cpu_…: the subject) recorded, as series or as histogram."""
    gone = []
    for metric in metrics:
        views = (snapshot.subject, *snapshot.ancestors) if metric.startswith("cpu_") else snapshot.dns_servers
        if not any(has(view, metric) or metric in view.distributions for view in views):
            gone.append(metric)
    return gone
