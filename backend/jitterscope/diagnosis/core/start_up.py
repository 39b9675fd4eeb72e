"""When a service is still starting: from the start of its process until it runs calmly for the first time.

A program that starts loads classes, compiles its code, and fills caches: a request then costs many times what it costs
later. No signal says when that is over. What shows it is the first calm stretch: the CPU limit throttles nothing, and
hardly any answer is late.
"""

from __future__ import annotations

import numpy as np

from jitterscope.diagnosis.core.served import ENOUGH
from jitterscope.diagnosis.core.signals import read_cpu
from jitterscope.diagnosis.core.snapshot import FloatArray, Snapshot

# A program is slow for its own reasons for at most so long after it started.
WARM_UP_US = 30_000_000
# The same work takes longer if the CPU limit throttles it from the start.
LONGEST_US = 180_000_000
CALM_US = 10_000_000
# Share of late answers that a calm stretch can have.
FEW_LATE = 0.01


def settled(snapshot: Snapshot, began_us: int, answers: FloatArray, late: FloatArray | None = None) -> int | None:
    """The tick after the first calm stretch since `began_us`; None if the window has none.

    `answers` and `late` ones of each tick. Without `late`, a stretch is calm if nothing is throttled in it.
    """
    size = CALM_US // snapshot.step_us
    if snapshot.ticks < size:
        return None
    answered = _moving(answers, size)
    calm = (_moving(read_cpu(snapshot).throttled, size) == 0) & (answered >= ENOUGH)
    if late is not None:
        calm &= _moving(late, size) <= FEW_LATE * answered
    first = max(0, (began_us - snapshot.start_us) // snapshot.step_us)
    found = np.flatnonzero(calm[first:])
    return first + int(found[0]) + size if len(found) else None


def _moving(values: FloatArray, size: int) -> FloatArray:
    """The sum of `size` ticks from each tick on; what was not recorded counts as 0."""
    total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(values))])
    return np.asarray(total[size:] - total[:-size])
