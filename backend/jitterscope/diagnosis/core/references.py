"""References from evidence to the series that it was computed from."""

from __future__ import annotations

from collections.abc import Iterable

from jitterscope.diagnosis.core.finding import SeriesRef
from jitterscope.diagnosis.core.signals import has
from jitterscope.diagnosis.core.snapshot import ResourceView


def recorded(span: tuple[int, int], views: Iterable[ResourceView], *metrics: str) -> list[SeriesRef]:
    """References to those of the metrics that the views recorded, over [from, to) in µs."""
    return [
        SeriesRef(resource_id=view.id, metric=name, from_us=span[0], to_us=span[1])
        for view in views
        for name in metrics
        if has(view, name) or name in view.distributions
    ]
