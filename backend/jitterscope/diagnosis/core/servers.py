"""What the DNS servers of a subject recorded together: sums, and what is missing."""

from __future__ import annotations

from jitterscope.diagnosis.core.signals import added_up, has
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot


def summed(snapshot: Snapshot, metric: str) -> FloatArray:
    """A metric summed over all servers of the subject, per tick; NaN where none has a value."""
    return added_up(snapshot.dns_servers, metric, snapshot.ticks)


def missing(snapshot: Snapshot, metrics: tuple[str, ...]) -> list[str]:
    """Metrics that no server of the subject (for cpu_…: the subject) recorded, as series or as histogram."""
    gone = []
    for metric in metrics:
        views = (snapshot.subject, *snapshot.ancestors) if metric.startswith("cpu_") else snapshot.dns_servers
        if not any(has(view, metric) or metric in view.distributions for view in views):
            gone.append(metric)
    return gone
