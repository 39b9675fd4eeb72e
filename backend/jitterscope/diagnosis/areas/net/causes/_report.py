"""How the causes of the area say what clients waited, and where their numbers can be looked up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitterscope.diagnosis.core import impact, references
from jitterscope.diagnosis.core.finding import Impact, SeriesRef
from jitterscope.diagnosis.core.late import Late
from jitterscope.diagnosis.core.quantity import impact_of
from jitterscope.diagnosis.core.snapshot import IntArray, ResourceView, Snapshot


def waits(late: float, requests: float, longest_us: float, limits: Sequence[Late] = ()) -> Impact:
    """Of clients, not of the server's answers: a request that waits for its connection is not seen by the server yet.
    `limits`: what made answers late; of connections that waited there is none.

    Quantiles of the server's own answers would say that nobody waited: they are left out.
    """
    return impact_of(
        {
            impact.QUERIES: int(requests) if requests > 0 else None,
            impact.SLOW_QUERIES: int(late),
            impact.SLOW_RATIO: min(1.0, late / requests) if requests > 0 else None,
            **(impact.slow_after(limits) if limits else {}),
            impact.MAX: longest_us / 1000,
        }
    )


def extent(snapshot: Snapshot, ticks: IntArray) -> tuple[int, int]:
    """Begin and end (µs) of the ticks, at least one."""
    low, high = int(ticks.min()), int(ticks.max())
    return snapshot.start_us + low * snapshot.step_us, snapshot.start_us + (high + 1) * snapshot.step_us


def refs(span: tuple[int, int], server: ResourceView, *names: str) -> list[SeriesRef]:
    """References to those that were recorded."""
    return references.recorded(span, (server,), *names)


def known(numbers: dict[str, float | None]) -> dict[str, float]:
    """Without what is not known."""
    return {name: value for name, value in numbers.items() if value is not None and np.isfinite(value)}
