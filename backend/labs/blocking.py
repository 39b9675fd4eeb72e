"""How long threads of a process were blocked in the kernel, by sampling their states."""

from __future__ import annotations

import os
import time
from contextlib import suppress

import numpy as np

from jitterscope.recordings.model import Recording
from labs.repeating import Reading

_EVERY_S = 0.01
_LATE_US = 50_000
_BLOCKED = "process_blocked_us"


class BlockedThreads(Reading):
    """Threads in state D (man 5 proc_pid_stat); each sample stands for the time since the previous one.

    A late one does so only for 50 ms: in the rest, which nobody saw, as many count as were blocked before and after it.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(_EVERY_S)
        self._tasks = f"/proc/{pid}/task"

    def look(self, late_us: int) -> None:
        blocked = 0
        with suppress(OSError):  # the thread has ended
            for task in os.listdir(self._tasks):
                with suppress(OSError), open(f"{self._tasks}/{task}/stat", "rb") as file:
                    blocked += file.read().rpartition(b") ")[2][:1] == b"D"
        self._rows.append((time.time_ns() // 1000, blocked, late_us, 0))

    def blocked_s(self, from_us: int, to_us: int) -> float:
        """Blocked time in the window, summed over all threads."""
        at, blocked, _, _ = self.columns()
        inside = (at[1:] > from_us) & (at[1:] <= to_us)
        since = np.diff(at)
        seen = np.minimum(since, _LATE_US)
        both = np.minimum(blocked[:-1], blocked[1:])
        return float((seen * blocked[1:] + (since - seen) * both)[inside].sum()) / 1e6


def observed_blocked_s(recording: Recording) -> float | None:
    """What the product stored for the subject's processes in its window; None if nothing."""
    own = [one for one in recording.resources if one.kind == "process" and one.parent == recording.subject]
    blocked = [one.series[_BLOCKED] for one in own if _BLOCKED in one.series]
    return float(sum(np.nansum(one) for one in blocked)) / 1e6 if blocked else None
