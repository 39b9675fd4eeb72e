"""What the area `pods` counts in."""

from __future__ import annotations

from jitterscope.diagnosis.areas.pods.readings.starts import OBJECTIVE_QUANTILE, OBJECTIVE_US
from jitterscope.diagnosis.core import wording as say
from jitterscope.diagnosis.core.finding import Impact
from jitterscope.diagnosis.core.quantity import Quantity


def _median(impact: Impact) -> str | None:
    median = P50.of(impact)
    return None if median is None else f"median {say.ms(median * 1000)}"


_OBJECTIVE_S = f"{OBJECTIVE_US / 1e6:.0f} s"
LATE_RATIO = Quantity(
    "late_start_ratio", f"Pods that took over {_OBJECTIVE_S} to start", "ratio",
    threshold=round(1 - OBJECTIVE_QUANTILE, 6), phrase=f"pods that took over {_OBJECTIVE_S} to start", short="late",
)  # fmt: skip
P50 = Quantity("start_p50_ms", "p50 pod start time", "ms", aside=True)
P99 = Quantity("start_p99_ms", "p99 pod start time", "ms", threshold=OBJECTIVE_US / 1000, short="p99", detail=_median)
MAX = Quantity("start_max_ms", "Slowest pod start", "ms", per_subject=True)
IMPACT = (LATE_RATIO, P99, MAX, P50)
