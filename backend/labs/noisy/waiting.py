"""How long threads of a process were runnable but not running, by the kernel's counters."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from jitterscope.recordings.model import Recording
from labs.repeating import Reading

_EVERY_S = 0.05
_SERIES = "process_run_delay_us"


class RunDelay(Reading):
    """The second number of /proc/PID/task/*/schedstat (Documentation/scheduler/sched-stats.rst), summed, in µs."""

    def __init__(self, pid: int) -> None:
        super().__init__(_EVERY_S)
        self._tasks = Path(f"/proc/{pid}/task")

    def look(self, late_us: int) -> None:
        waited_ns = 0
        for task in self._tasks.glob("*"):
            with suppress(OSError):  # the thread has ended
                waited_ns += int((task / "schedstat").read_text().split()[1])
        self._rows.append((time.time_ns() // 1000, waited_ns // 1000, late_us, 0))

    def waited_us(self, from_us: int, to_us: int) -> float:
        """Run delay in the window."""
        at, waited, _, _ = self.columns()
        before, after = np.interp([from_us, to_us], at, waited)
        return float(after - before)


def observed_run_delay_s(recording: Recording) -> float | None:
    """The same from the product's data, for the subject's processes; None if it has none."""
    own = [one for one in recording.resources if one.kind == "process" and one.parent == recording.subject]
    waits = [one.series[_SERIES] for one in own if _SERIES in one.series]
    return float(sum(np.nansum(one) for one in waits)) / 1e6 if waits else None
