"""What the area `cpu` counts in besides answers and CPU use."""

from __future__ import annotations

from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Impact
from jitterscope.diagnosis.core.quantity import Quantity


def _in_all(known: Impact) -> str | None:
    throttled = THROTTLED_MS.of(known)
    return None if throttled is None else f"{say.ms(throttled * 1000)} total"


THROTTLED_MS_PER_MIN = Quantity("throttled_ms_per_min", "Throttled time", "ms/min")
THROTTLED_MS = Quantity("throttled_ms", "Total throttled time", "ms", aside=True, proves="harm")
THROTTLED_RATIO = Quantity(
    "throttled_ratio", "Throttled periods", "ratio",
    threshold=0.0, phrase="throttled periods", short="throttled", detail=_in_all,
)  # fmt: skip
RUN_DELAY_MS = Quantity("run_delay_ms", "Time waiting for a CPU", "ms")
RUN_DELAY_MS_PER_MIN = Quantity("run_delay_ms_per_min", "Time waiting for a CPU", "ms/min")
GC_CYCLES = Quantity("gc_cycles", "GC cycles", "1", better="none")
GC_CYCLES_PER_MIN = Quantity("gc_cycles_per_min", "GC cycles", "1/min")

IMPACT = (*impact.ANSWERS, THROTTLED_RATIO, THROTTLED_MS, RUN_DELAY_MS, *impact.CPU_USE, GC_CYCLES)
