"""How long something takes without the time in which its threads waited for a CPU that others had."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil


class Stopwatch:
    """For what a process and its descendants do."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)

    def of(self, what: Callable[[], object]) -> float:
        """Seconds."""
        waited, began = self._waited_s(), time.monotonic()
        what()
        return time.monotonic() - began - (self._waited_s() - waited)

    def least_of(self, times: int, what: Callable[[], object]) -> float:
        """Seconds of the fastest run."""
        return min(self.of(what) for _ in range(times))

    def _waited_s(self) -> float:
        """Run delay of all threads: the second figure of schedstat (Documentation/scheduler/sched-stats.rst), in ns."""
        total = 0
        for one in (self._process, *self._process.children(recursive=True)):
            for file in Path(f"/proc/{one.pid}/task").glob("*/schedstat"):
                with suppress(OSError):  # it has just ended
                    total += int(file.read_text().split()[1])
        return total / 1e9
