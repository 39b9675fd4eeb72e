"""The burst of queries in a recorded window, as the what-if for memory takes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jitterscope.diagnosis import memory_signals
from jitterscope.diagnosis.memory_oom import LEAST_RISE
from jitterscope.diagnosis.memory_queries import Burst, NoBurst, burst, waiting
from jitterscope.diagnosis.memory_signals import Life, Memory
from jitterscope.diagnosis.snapshot import Snapshot
from jitterscope.diagnosis.whatif.memory import MemoryLoad

# Without a limit: a rise that is worth a look.
LEAST_BYTES = 8 << 20


def load_of(found: Burst, limit: float) -> MemoryLoad:
    """`limit` bytes (inf: none)."""
    low, high = found.per_query_range
    return MemoryLoad(
        base_bytes=found.growth.base,
        per_query_bytes=(low, found.per_query, high),
        joining_per_s=found.joining_per_s,
        ceiling=found.ceiling,
        garbage=1 + 2 * found.garbage,
        limit_bytes=limit,
    )


def from_snapshot(snapshot: Snapshot) -> tuple[Burst, float] | str:
    """The newest burst in which memory follows the waiting queries, and the limit (bytes) then; else why none is there.

    Looked at while queries still pile up, where it went on after that.
    """
    memory = memory_signals.read(snapshot)
    if memory is None:
        return "No memory of the cgroup was recorded in this window."
    why = "Too little was recorded to see memory grow."
    for life in reversed(memory_signals.lives(memory)):
        found = _at_its_peak(snapshot, memory, life)
        limit = float(memory.limit[min(life.end, snapshot.ticks) - 1])
        if isinstance(found, NoBurst):
            why = found.reason
        elif found.growth.risen < (LEAST_RISE * limit if np.isfinite(limit) else LEAST_BYTES):
            why = f"{found.most:,.0f} queries waited at once, which hardly made memory grow."
        else:
            return found, limit
    return why


def _at_its_peak(snapshot: Snapshot, memory: Memory, life: Life) -> Burst | NoBurst:
    counted = waiting(snapshot, life)
    if counted is None or life.end - life.start < 3:
        return NoBurst("No waiting queries were counted.", {})
    part = counted.values[life.start : life.end]
    most = float(part.max())
    # The first tick with nearly as many as there were at most: from then on it only stays as it is.
    peak = life.start + int(np.flatnonzero(part >= 0.95 * most)[0])
    return burst(snapshot, memory, replace(life, end=max(peak + 1, life.start + 3)))
