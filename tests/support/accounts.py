"""The lab's own figures of a run compared with the product's."""

from __future__ import annotations

import os
from typing import Any

import pytest

from labs.figures import Figures
from labs.report import Report
from tests.support.neighbours import Disturbed

# Within 10 %, p99 within 15 %, or within what rounding and the edges of the window cause: (relative, absolute). The
# kernel adds throttled time when it ends, for each CPU: one end near an edge is up to a period of all of them. A sample
# of either that is 5 ms late at a tick's edge moves up to a tenth of both CPUs to the next tick.
_EDGE_MS = (os.cpu_count() or 1) * 100
_MOST_MISSING = 0.25
SLACK = {
    "p50_ms": (0.1, 0.02), "p99_ms": (0.15, 0.5), "slow_share": (0.1, 0.002), "throttled_ratio": (0.1, 0.006),
    "throttled_ms": (0.1, _EDGE_MS), "gc_cycles": (0.1, 1), "cpu_mean": (0.1, 0.005), "cpu_peak_100ms": (0.1, 0.1),
}  # fmt: skip


def differing(report: Report[Any], slack: dict[str, tuple[float, float]] | None = None) -> dict[str, tuple[Any, Any]]:
    """What the lab measured and what the product observed, if they differ. `slack`: more than those of `Figures`.

    Raises Disturbed if they do and the product had too little of the machine to look: it missed many ticks.
    """
    allowed = {**SLACK, **(slack or {})}
    measured, observed = report.measured.model_dump(), report.observed.model_dump()
    assert set(allowed) == set(measured) >= set(Figures.model_fields)
    found = {
        name: (measured[name], observed[name])
        for name, (rel, absolute) in allowed.items()
        # What the lab could not measure is not compared.
        if measured[name] is not None and observed[name] != pytest.approx(measured[name], rel=rel, abs=absolute)
    }
    if found and (report.missing_ticks_ratio or 0.0) > _MOST_MISSING:
        raise Disturbed(f"{report.missing_ticks_ratio:.0%} of the ticks are missing, and figures differ: {found}")
    return found
