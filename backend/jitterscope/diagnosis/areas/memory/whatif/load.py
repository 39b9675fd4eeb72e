"""The burst of queries in a recorded window, as input of the memory what-if."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis.areas.memory.readings import signals as memory_signals
from jitterscope.diagnosis.areas.memory.readings.oom import LEAST_RISE
from jitterscope.diagnosis.areas.memory.readings.signals import Life
from jitterscope.diagnosis.areas.memory.readings.waiting_queries import Burst, NoBurst, burst, waiting
from jitterscope.diagnosis.areas.memory.whatif.query_burst import MemoryLoad
from jitterscope.diagnosis.core.reading import reading
from jitterscope.diagnosis.core.snapshot import Snapshot

# Without a limit: a rise that is worth examining.
LEAST_BYTES = 8 << 20
# More than this multiple of its calm memory is what a heap kept after a burst.
_KEPT = 1.5


def load_of(found: Burst, limit: float) -> MemoryLoad:
    """The load of a burst; `limit` bytes (inf: none)."""
    (low, high), expected = found.per_query_range, found.per_query
    base = found.growth.base
    if base > _KEPT * found.calm:
        # Memory that was kept is reused by the first that wait: beyond the calm level each needs at most this much.
        base = found.calm
        most = (found.growth.now - base) / found.most
        low, expected, high = min(low, most), min(expected, most), max(high, most)
    return MemoryLoad(
        base_bytes=base,
        per_query_bytes=(low, expected, high),
        joining_per_s=found.joining_per_s,
        ceiling=found.ceiling,
        garbage=1 + 2 * found.garbage,
        limit_bytes=limit,
    )


@reading
def from_snapshot(snapshot: Snapshot) -> tuple[Burst, float] | str:
    """The newest burst in which memory follows the waiting queries, and the limit (bytes) then; else why there is none.

    Examined while queries still accumulate, if it went on after that.
    """
    memory = memory_signals.read(snapshot)
    if memory is None:
        return "No memory of the cgroup was recorded in this window."
    why = "Too little data to tell whether memory grows."
    for life in reversed(memory_signals.lives(memory)):
        found = _at_its_peak(snapshot, life)
        limit = float(memory.limit[min(life.end, snapshot.ticks) - 1])
        if isinstance(found, NoBurst):
            why = found.reason
        elif found.growth.risen < (LEAST_RISE * limit if np.isfinite(limit) else LEAST_BYTES):
            why = f"{found.most:,.0f} queries waited, which hardly made memory grow."
        else:
            return found, limit
    return why


def _at_its_peak(snapshot: Snapshot, life: Life) -> Burst | NoBurst:
    counted = waiting(snapshot, life)
    if counted is None or life.end - life.start < 3:
        return NoBurst("No waiting queries were counted.", {})
    part = counted.values[life.start : life.end]
    most = float(part.max())
    # The first tick with nearly the maximum number: from then on it only stays level.
    peak = life.start + int(np.flatnonzero(part >= 0.95 * most)[0])
    return burst(snapshot, replace(life, end=max(peak + 1, life.start + 3)))
