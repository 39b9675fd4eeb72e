"""What the lab itself sees of the server's memory: the cgroup's counters and open descriptors, every 10 ms."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labs.cgroups import LabCgroup
from labs.repeating import Reading

_EVERY_S = 0.01


@dataclass(frozen=True, slots=True)
class Readings:
    """Parallel arrays by time: memory in use, kills since cgroup creation, descriptors (0: the server is gone)."""

    at_us: NDArray[np.int64]
    usage_bytes: NDArray[np.int64]
    oom_kills: NDArray[np.int64]
    fds: NDArray[np.int64]

    def killed_us(self) -> int | None:
        """When the first kill was seen (µs since the epoch)."""
        killed = self.at_us[self.oom_kills > 0]
        return int(killed[0]) if killed.size else None

    def within(self, from_us: int, to_us: int) -> Readings:
        """Only the samples in [from_us, to_us)."""
        inside = (self.at_us >= from_us) & (self.at_us < to_us)
        return Readings(*(column[inside] for column in (self.at_us, self.usage_bytes, self.oom_kills, self.fds)))


class Watcher(Reading):
    """Samples every 10 ms."""

    def __init__(self, cgroup: LabCgroup, pid: int) -> None:
        super().__init__(_EVERY_S)
        if cgroup.version == 2:
            self._usage, self._kills = cgroup.memory / "memory.current", cgroup.memory / "memory.events"
        else:
            self._usage, self._kills = cgroup.memory / "memory.usage_in_bytes", cgroup.memory / "memory.oom_control"
        self._fds = Path(f"/proc/{pid}/fd")

    def readings(self) -> Readings:
        """Everything read so far."""
        return Readings(*self.columns())

    def look(self, late_us: int) -> None:
        """Read once."""
        usage, kills = int(self._usage.read_text()), count_of(self._kills.read_text(), "oom_kill")
        self._rows.append((time.time_ns() // 1000, usage, kills, open_descriptors(self._fds)))


def count_of(text: str, name: str) -> int:
    """A counter of a file with `name value` lines; 0 if it has none."""
    return next((int(line.split()[1]) for line in text.splitlines() if line.split()[:1] == [name]), 0)


def open_descriptors(folder: Path) -> int:
    """Open descriptors of a process; 0 if it is gone. Since Linux 6.2 the folder's size is their number."""
    try:
        return folder.stat().st_size or len(os.listdir(folder))
    except OSError:
        return 0
