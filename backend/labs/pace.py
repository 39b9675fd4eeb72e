"""Times of a lab run: the ticks on which it begins, and whether the load driver kept its pace."""

from __future__ import annotations

from jitterscope.analyses.load_file import LoadResult
from labs.console import Say
from labs.errors import LabError
from labs.figures import TICK_US


def tick_after(when_s: float) -> int:
    """The first multiple of 100 ms (µs) after that time (s since the epoch)."""
    return (int(when_s * 1e6) // TICK_US + 1) * TICK_US


def check_pace(result: LoadResult, say: Say) -> None:
    """Check the pace: latency counts from when a query really left, so a late driver changes the load, not latency."""
    late_ms = result.summary["send_delay_p99_us"] / 1e3
    if late_ms > 1_000 or result.summary["not_sent"]:
        raise LabError(
            f"The load driver could not keep its pace (1 % of queries left {late_ms:.0f} ms late or more): "
            "this machine is too busy for a measurement; lower --qps or free a CPU."
        )
    if late_ms > 20:
        say(f"This machine is busy: 1 % of queries left {late_ms:.0f} ms late or more")
