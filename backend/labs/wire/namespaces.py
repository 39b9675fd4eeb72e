"""Two network namespaces, for clients and for a server, with one link between them that carries nothing else.

They and the link end with the processes that hold them, which end with the lab even if it is killed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs import packages, processes
from labs.cgroups import LabCgroup
from labs.errors import LabError

# From a range reserved for benchmarks (RFC 2544); these namespaces see no other network.
CLIENT, SERVER = "198.18.0.1", "198.18.0.2"
_RELAY = Path(__file__).with_name("delay.py")


@dataclass(frozen=True, slots=True)
class Namespace:
    """A network namespace, held by the process `pid`."""

    pid: int

    @property
    def enter(self) -> tuple[str, ...]:
        """The command that runs another one in it."""
        return ("nsenter", f"--net=/proc/{self.pid}/ns/net")

    def run(self, *command: str) -> str:
        """Run a command in it. Raises LabError if it fails."""
        return packages.run([*self.enter, *command])

    def counter(self, group: str, name: str) -> int:
        """A counter of /proc/net/snmp or /proc/net/netstat, such as ("Tcp:", "RetransSegs").

        Raises LabError if the kernel does not have it.
        """
        for file in ("snmp", "netstat"):
            rows = [line.split() for line in Path(f"/proc/{self.pid}/net/{file}").read_text().splitlines()]
            for names, values in zip(rows[::2], rows[1::2], strict=True):
                if names[0] == group and name in names:
                    return int(values[names.index(name)])
        raise LabError(f"This kernel does not count {group} {name}.")

    def listens(self, port: int) -> bool:
        """Whether a socket listens on the port."""
        rows = (line.split() for line in Path(f"/proc/{self.pid}/net/tcp").read_text().splitlines()[1:])
        rows6 = (line.split() for line in Path(f"/proc/{self.pid}/net/tcp6").read_text().splitlines()[1:])
        return any(
            row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port for part in (rows, rows6) for row in part
        )


@dataclass(frozen=True, slots=True)
class Wire:
    clients: Namespace
    server: Namespace


@contextmanager
def wire(cgroup: LabCgroup, delay_ms: float) -> Iterator[Wire]:
    """Both namespaces, linked by a veth pair or, if packets are to take `delay_ms`, by a program.

    Its processes are in `cgroup`.
    """
    started: list[subprocess.Popen[bytes]] = []
    try:
        made = Wire(_namespace(cgroup, started), _namespace(cgroup, started))
        if delay_ms:
            _relay(made, cgroup, delay_ms, started)
        else:
            ends = ["name", "wire0", "netns", str(made.clients.pid)], ["name", "wire0", "netns", str(made.server.pid)]
            packages.run(["ip", "link", "add", *ends[0], "type", "veth", "peer", *ends[1]])
        for own, address, peer in ((made.clients, CLIENT, SERVER), (made.server, SERVER, CLIENT)):
            own.run("ip", "link", "set", "lo", "up")
            own.run("ip", "address", "add", address, "peer", peer, "dev", "wire0")
            own.run("ip", "link", "set", "wire0", "up")
        yield made
    finally:
        for process in reversed(started):
            processes.stop(process)


def _namespace(cgroup: LabCgroup, started: list[subprocess.Popen[bytes]]) -> Namespace:
    holder = processes.spawn(["unshare", "--net", "cat"], cgroup_procs=cgroup.procs_files(), stdin=subprocess.PIPE)
    started.append(holder)
    own, entered = Path("/proc/self/ns/net").readlink(), Path(f"/proc/{holder.pid}/ns/net")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and holder.poll() is None:
        if entered.readlink() != own:
            return Namespace(holder.pid)
        time.sleep(0.01)
    raise LabError("Cannot make a network namespace: run the lab as root.")


def _relay(made: Wire, cgroup: LabCgroup, delay_ms: float, started: list[subprocess.Popen[bytes]]) -> None:
    pids = [str(made.clients.pid), str(made.server.pid)]
    relay = processes.spawn(
        [sys.executable, "-I", str(_RELAY), *pids, str(delay_ms)], cgroup_procs=cgroup.procs_files(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    started.append(relay)
    assert relay.stdout is not None
    if relay.stdout.readline() != b"ready\n":
        _, complaint = relay.communicate()
        raise LabError(f"Cannot make a slow link: {complaint.decode(errors='replace').strip()}")
