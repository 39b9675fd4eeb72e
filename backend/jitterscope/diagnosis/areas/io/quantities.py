"""What the area `io` counts in besides answers and CPU use."""

from __future__ import annotations

from jitterscope.diagnosis.core import impact
from jitterscope.diagnosis.core.blocked import BLOCKED_MS

IMPACT = (*impact.ANSWERS, BLOCKED_MS, *impact.CPU_USE)
