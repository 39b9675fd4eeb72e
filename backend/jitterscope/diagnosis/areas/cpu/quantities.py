"""What the area `cpu` counts in besides answers and CPU use."""

from __future__ import annotations

from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.quantity import Quantity

THROTTLED_MS_PER_MIN = Quantity("throttled_ms_per_min", "Throttled time", "ms/min")
THROTTLED_MS, THROTTLED_RATIO = impact.THROTTLED_MS, impact.THROTTLED_RATIO
RUN_DELAY_MS = Quantity("run_delay_ms", "Time waiting for a CPU", "ms")
RUN_DELAY_MS_PER_MIN = Quantity("run_delay_ms_per_min", "Time waiting for a CPU", "ms/min")
GC_CYCLES = Quantity("gc_cycles", "GC cycles", "1", better="none")
GC_CYCLES_PER_MIN = Quantity("gc_cycles_per_min", "GC cycles", "1/min")

IMPACT = (*impact.ANSWERS, THROTTLED_RATIO, THROTTLED_MS, RUN_DELAY_MS, *impact.CPU_USE, GC_CYCLES)
