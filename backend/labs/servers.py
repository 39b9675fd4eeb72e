"""A lab's servers: real programs on loopback addresses, each in a cgroup, with their output kept."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from jitterscope.devstack.ports import candidates
from labs import processes
from labs.cgroups import LabCgroup
from labs.errors import LabError
from labs.gctrace import GcCycle


class Server:
    """One running server, for DNS unless a subclass says otherwise.

    It starts in `cgroup`, whose limit the caller sets later. `log`: a file for its output, as a service manager or
    container runtime keeps it; without one, `heard` gets each line. `reads_gc`: parses the GC cycle in a line.
    """

    def __init__(
        self,
        name: str,
        endpoint: tuple[str, int],
        command: Sequence[str],
        cgroup: LabCgroup,
        environment: Mapping[str, str] | None = None,
        log: Path | None = None,
        reads_gc: Callable[[str, int], GcCycle | None] | None = None,
    ) -> None:
        self.name, self.cgroup, self.log = name, cgroup, log
        self._reads_gc = reads_gc
        self._gc_cycles: list[GcCycle] = []
        self.address, self.port = endpoint
        self.command, self.environment = list(command), environment
        self._lines: list[str] = []
        self._readers: list[threading.Thread] = []

    def start(self, probe: str, patience_s: float = 180.0) -> None:
        """Start and wait until it answers for the name `probe`. Raises LabError with its log if it does not."""
        if self.log is None:
            self._spawn(subprocess.PIPE)
            streams = [stream for stream in (self._process.stderr, self._process.stdout) if stream is not None]
            self._readers = [threading.Thread(target=self._read, args=(stream,), daemon=True) for stream in streams]
            for reader in self._readers:
                reader.start()
        else:
            with self.log.open("ab") as file:
                self._spawn(file)
        deadline = time.monotonic() + patience_s
        while not self.answers(probe):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise LabError(f"{self.name} does not answer:\n{self.said()}")

    def restart(
        self, probe: str, *, command: Sequence[str] | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Restart it on the same address, with another command or environment if given."""
        self.stop()
        self.command = self.command if command is None else list(command)
        self.environment = self.environment if environment is None else environment
        self.start(probe)

    def _spawn(self, output: int | IO[bytes]) -> None:
        self._process = processes.spawn(
            self.command,
            cgroup_procs=self.cgroup.procs_files(),
            environment=self.environment,
            stderr=output,
            stdout=output,
        )

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for raw in stream:
                self.heard(raw.decode(errors="replace"), time.time_ns() // 1000)

    def heard(self, line: str, now_us: int) -> None:
        """Handle one line that the server printed, read at `now_us`."""
        cycle = None if self._reads_gc is None else self._reads_gc(line, now_us)
        if cycle is None:
            self._lines.append(line)
        else:
            self._gc_cycles.append(cycle)

    def answers(self, probe: str) -> bool:
        """Whether it answers for the name; waits a little if it does not."""
        return answers(self.address, self.port, probe)

    @property
    def gc_cycles(self) -> list[GcCycle] | None:
        """Every GC cycle that it has reported so far, oldest first; None: it reports none."""
        return None if self._reads_gc is None else list(self._gc_cycles)

    def said(self) -> str:
        """The last lines it printed."""
        if self.log is not None:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])
        return "".join(self._lines[-20:])

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def key(self) -> str:
        """The product's key for it."""
        return f"{self.address}:{self.port}"

    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        # A throttled server takes time to end.
        processes.terminate(self._process, 10.0)
        for reader in self._readers:
            reader.join(5)


def free_port(address: str = "127.0.0.1", preferred: int = 0) -> int:
    """A port that is currently free for UDP and TCP on the address: the preferred one, otherwise any."""
    if preferred and _is_free(address, preferred):
        return preferred
    for port in candidates():
        if _is_free(address, port):
            return port
    raise LabError(f"No port of {address} is free for UDP and TCP.")


def _is_free(address: str, port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            # As servers set it: leftovers of closed connections do not block the port.
            if kind is socket.SOCK_STREAM:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
                if kind is socket.SOCK_STREAM:
                    probe.listen()
            except OSError:
                return False
    return True


def answers(address: str, port: int, name: str, patience_s: float = 0.3) -> bool:
    """Whether a server answers an A query over UDP, with any result but an error. Waits a little if it does not."""
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = struct.pack(">6H", 1, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(patience_s)
        try:
            client.connect((address, port))
            client.send(query)
            answer = client.recv(4096)
        except OSError:
            time.sleep(0.1)
            return False
    return len(answer) > 12 and answer[3] & 0x0F == 0
