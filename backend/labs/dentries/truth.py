"""What the lab itself sees: the kernel's dentry counters, and how late a task that only wants to run gets a CPU."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labs.repeating import Reading

_STATE = Path("/proc/sys/fs/dentry-state")
_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Readings:
    """Parallel arrays by time: dentries of the machine, negative dentries, how late the sample was (µs)."""

    at_us: NDArray[np.int64]
    dentries: NDArray[np.int64]
    negative: NDArray[np.int64]
    late_us: NDArray[np.int64]

    def within(self, from_us: int, to_us: int) -> Readings:
        """Only the samples in [from_us, to_us)."""
        inside = (self.at_us >= from_us) & (self.at_us < to_us)
        return Readings(*(column[inside] for column in (self.at_us, self.dentries, self.negative, self.late_us)))


def dentry_state() -> tuple[int, int]:
    """Number of dentries of the machine, and of negative ones on its LRU lists."""
    fields = _STATE.read_text().split()
    return int(fields[0]), int(fields[4])


class Watcher(Reading):
    """Samples every 20 ms."""

    def __init__(self) -> None:
        super().__init__(_EVERY_S)

    def readings(self) -> Readings:
        """Everything read so far."""
        return Readings(*self.columns())

    def look(self, late_us: int) -> None:
        """Read once."""
        self._rows.append((time.time_ns() // 1000, *dentry_state(), late_us))
