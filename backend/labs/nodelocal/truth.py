"""What the lab itself sees of dnsmasq in /proc: child processes, the accept backlog, dropped connections."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from labs.repeating import Reading
from labs.servers import Server

_EVERY_S = 0.01
_LISTEN = "0A"  # TCP_LISTEN in the kernel's include/net/tcp_states.h


@dataclass(frozen=True, slots=True)
class Readings:
    """Parallel arrays by time: `children` and `backlog` of the server that has the most, `overflows` since boot."""

    at_us: NDArray[np.int64]
    children: NDArray[np.int64]
    backlog: NDArray[np.int64]
    overflows: NDArray[np.int64]

    def within(self, from_us: int, to_us: int) -> Readings:
        """Only the samples in [from_us, to_us)."""
        inside = (self.at_us >= from_us) & (self.at_us < to_us)
        return Readings(self.at_us[inside], self.children[inside], self.backlog[inside], self.overflows[inside])


class Watcher(Reading):
    """Samples every 10 ms.

    `react` is called after each sample with children and backlog of every server, in the given order.
    """

    def __init__(self, servers: Sequence[Server], react: Callable[[list[int], list[int]], None] | None = None) -> None:
        super().__init__(_EVERY_S)
        self._children = [Path(f"/proc/{one.pid}/task/{one.pid}/children") for one in servers]
        self._listening = [listening_row(one.address, one.port) for one in servers]
        self._react = react

    def __enter__(self) -> Self:
        self._tcp = os.open("/proc/net/tcp", os.O_RDONLY)
        self._netstat = os.open("/proc/net/netstat", os.O_RDONLY)
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        os.close(self._tcp)
        os.close(self._netstat)

    def readings(self) -> Readings:
        """Everything read so far."""
        return Readings(*self.columns())

    def look(self, late_us: int) -> None:
        """Read once, and react."""
        children = [count_children(path) for path in self._children]
        waiting = backlogs(_listen_rows(self._tcp), self._listening)
        backlog = [waiting.get(row, 0) for row in self._listening]
        overflows = listen_overflows(os.pread(self._netstat, 16_384, 0).decode())
        self._rows.append((time.time_ns() // 1000, max(children), max(backlog), overflows))
        if self._react is not None:
            self._react(children, backlog)


def count_children(path: Path) -> int:
    """Entries of a /proc/PID/task/PID/children file; 0 if the process is gone."""
    try:
        return len(path.read_text().split())
    except OSError:
        return 0


def listening_row(address: str, port: int) -> str:
    """An address as in /proc/net/tcp: bytes of the number in host order, here little-endian."""
    return "".join(f"{int(part):02X}" for part in reversed(address.split("."))) + f":{port:04X}"


def backlogs(table: str, wanted: Collection[str]) -> dict[str, int]:
    """Accept backlog of the wanted listening sockets: rx_queue in the LISTEN rows of /proc/net/tcp."""
    found: dict[str, int] = {}
    for line in table.splitlines():
        fields = line.split(None, 5)
        if len(fields) > 4 and fields[3] == _LISTEN and fields[1] in wanted:
            found[fields[1]] = int(fields[4].split(":")[1], 16)
    return found


def _listen_rows(file: int) -> str:
    """The beginning of /proc/net/tcp: listening sockets come first, and thousands of others might follow."""
    table = b""
    while chunk := os.pread(file, 1 << 16, len(table)):  # the kernel returns some 4 KiB at a time
        table += chunk
        last = table[: table.rindex(b"\n")].rsplit(b"\n", 1)[-1].split(None, 4)
        if len(last) > 3 and last[3] != _LISTEN.encode() and last[0] != b"sl":
            break
    return table.decode()


def listen_overflows(netstat: str) -> int:
    """TcpExt ListenOverflows of /proc/net/netstat."""
    names, values = [line.split() for line in netstat.splitlines() if line.startswith("TcpExt:")]
    return int(values[names.index("ListenOverflows")])
