"""How long the machine stood still: a real-time program was due and did not run.

Nothing that the lab or the product runs can delay it. It is a process of its own: a thread of the lab's would also wait
for what other threads do in the interpreter.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from types import TracebackType
from typing import Self

from jitterscope.diagnosis.core.freezes import LEAST_US
from labs import processes

_EVERY_NS = 10_000_000


class Freezes:
    """Watches the machine within the context."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", __name__, str(LEAST_US)]
        self._program = processes.spawn(command, stdout=subprocess.PIPE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        processes.terminate(self._program)
        assert self._program.stdout is not None
        with self._program.stdout as told:
            self._told = told.read().decode().split()

    def figures(self) -> tuple[float | None, float | None]:
        """Total s and longest ms, after the context; None without the right to real-time priority."""
        if "realtime" not in self._told:
            return None, None
        late_us = [int(one) for one in self._told if one != "realtime"]
        return round(sum(late_us) / 1e6, 3), round(max(late_us, default=0) / 1e3, 1)


def watch(least_us: int) -> None:
    """Print the µs of each freeze, from `least_us` on, until the process is ended. Raises OSError without the right."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    _tell("realtime")
    due_ns = time.monotonic_ns()
    while True:
        due_ns += _EVERY_NS
        time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        late_us = (time.monotonic_ns() - due_ns) // 1000
        if late_us >= least_us:
            _tell(str(late_us))
            due_ns = time.monotonic_ns()


def _tell(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    watch(int(sys.argv[1]))
