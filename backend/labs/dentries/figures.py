"""The figures that the lab measures itself and the same ones queried from the product."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from labs.dentries.truth import Readings


class DentryFigures(BaseModel):
    """Figures of the measured window, which begins with the first start; None: not seen, or there was none.

    `gained`: peak number of dentries minus the initial number, `negative_gained`: the same for negative ones.
    `failures`: lookups of names that do not exist, by the lab's programs. `pause_s`: how long dropping or unmounting
    took, `dropped`: how many dentries it freed. `latest_ms`: how late a task got a CPU during that time.
    """

    model_config = ConfigDict(extra="forbid")

    gained: int | None = None
    negative_gained: int | None = None
    failures: int | None = None
    failures_per_s: float | None = None
    pause_s: float | None = None
    dropped: int | None = None
    latest_ms: float | None = None


def measured(
    readings: Readings, repeated: dict[str, Any] | None, from_us: int, ended_us: int, pause: tuple[int, int] | None
) -> DentryFigures:
    """Compute the figures. `repeated`: what the driver printed; `pause`: when dropping began and ended (µs)."""
    seen = readings.within(from_us, ended_us)
    before = readings.within(0, from_us)
    if not seen.at_us.size or not before.at_us.size:
        return DentryFigures()
    figures = DentryFigures(
        gained=int(seen.dentries.max() - before.dentries[-1]),
        negative_gained=int(seen.negative.max() - before.negative[-1]),
    )
    if repeated is not None:
        figures.failures = int(repeated["failures"])
        figures.failures_per_s = figures.failures / ((ended_us - from_us) / 1e6)
    if pause is not None:
        # What a task notices lasts until it runs again.
        late = readings.within(pause[0], pause[1] + 200_000).late_us
        figures.pause_s = (pause[1] - pause[0]) / 1e6
        figures.dropped = _last(readings, pause[0]) - int(readings.within(pause[1], pause[1] + 300_000).dentries.min())
        figures.latest_ms = float(late.max(initial=0)) / 1e3
    return figures


def _last(readings: Readings, before_us: int) -> int:
    index = int(np.searchsorted(readings.at_us, before_us)) - 1
    return int(readings.dentries[max(index, 0)])
