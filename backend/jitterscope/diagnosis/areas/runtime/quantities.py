"""What the area `runtime` counts in besides answers and CPU use."""

from __future__ import annotations

from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.quantity import Quantity
from jitterscope.diagnosis.core.severity import SLOW_US

LONGEST_PAUSE = Quantity(
    "longest_pause_ms", "Longest GC pause", "ms", threshold=SLOW_US / 1000, short="longest pause", per_subject=True
)
PAUSE_MS_PER_MIN = Quantity("gc_pause_ms_per_min", "GC pauses", "ms/min")
LONG_PAUSES_PER_MIN = Quantity("long_pauses_per_min", f"GC pauses over {SLOW_US // 1000} ms", "1/min")

IMPACT = (*impact.ANSWERS, LONGEST_PAUSE, *impact.CPU_USE)
