"""A capture of the flight recorder in memory: plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CapturedProcess:
    """`command` indexes the capture's strings; `cgroup` is a path below the hierarchy root."""

    pid: int
    command: int
    cgroup: str


@dataclass(frozen=True, slots=True)
class Samples:
    """Stack samples, sorted by time: µs from the capture's start, indices into stacks and processes, CPU numbers."""

    offset_us: IntArray
    stack: IntArray
    process: IntArray
    cpu: IntArray


@dataclass(frozen=True, slots=True)
class Rows:
    """The process table, once a second: CPU time since the previous row (µs), threads, state as a code point."""

    offset_us: IntArray
    process: IntArray
    user_us: IntArray
    system_us: IntArray
    threads: IntArray
    state: IntArray


@dataclass(frozen=True, slots=True)
class Waits:
    """What threads of servers waited in while these owed answers and gave none, sorted by time.

    µs from the capture's start, index into processes, thread id, its name, state as a code point, system call ("" none,
    "?" not known) and kernel function ("" none or not known) as indices into strings, index into stacks plus 1 (0: not
    read).
    """

    offset_us: IntArray
    process: IntArray
    thread: IntArray
    name: IntArray
    state: IntArray
    call: IntArray
    place: IntArray
    stack: IntArray


@dataclass(frozen=True, slots=True)
class Capture:
    """What ran in [start_us, end_us) (µs since the epoch, UTC), with `rate_hz` samples per second and CPU.

    `stacks` are (kernel frames, user frames), leaf first; frames index `strings`.
    """

    reason: str
    start_us: int
    end_us: int
    rate_hz: float
    lost_samples: int
    strings: tuple[str, ...]
    processes: tuple[CapturedProcess, ...]
    stacks: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    samples: Samples
    rows: Rows
    waits: Waits

    @property
    def cpus(self) -> int:
        """CPUs with at least one sample."""
        return len(np.unique(self.samples.cpu))
