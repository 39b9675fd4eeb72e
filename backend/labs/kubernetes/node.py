"""A node: `python -m labs.kubernetes.node NUMBER OWNER`, in its own network and mount namespaces.

It starts the programs, and ends all of them, including pods, on SIGTERM, when one of them ends, or when the process
OWNER is gone (0: no owner). Its programs die with it even if it is killed; pods then stay until `cluster.remove`. On
SIGHUP it restarts its kubelet. The PID namespace is the machine's: collectors in pods need the real PIDs, for hostPID
and eBPF. The kernel is the machine's too: a node sees the processes of other nodes, but not their cgroups.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx
import psutil

from labs import packages, processes
from labs.errors import LabError
from labs.kubernetes import api, building, configuration, control_plane, tree
from labs.kubernetes.building import Programs
from labs.kubernetes.configuration import WANTED_SYSCTLS
from labs.kubernetes.control_plane import Command
from labs.kubernetes.layout import FIRST, HOST_ADDRESS, LINK_BITS, Files, Node

_API_PATIENCE_S = 180.0
_LINK_PATIENCE_S = _END_PATIENCE_S = 20.0


class Running:
    """The running programs of a node."""

    def __init__(self, files: Files, node: Node, programs: Programs, ends: Callable[[], bool]) -> None:
        self._files, self._own, self._node = files, files.of(node), node
        self._programs, self._ends = programs, ends
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start everything. Raises LabError if a program ends or the API server does not become ready."""
        leads = self._node == FIRST
        for command in control_plane.storage(self._files, self._programs) if leads else ():
            self._spawn(command)
        for command in configuration.runtime(self._own, self._programs):
            self._spawn(command)
        self._wait_for_api()
        for command in control_plane.control(self._files, self._programs) if leads else ():
            self._spawn(command)
        for command in configuration.agents(self._files, self._node, self._programs):
            self._spawn(command)
        self._own.ready.touch()

    def restart(self, name: str) -> None:
        """End the kubelet or the container runtime and start it again; pods keep running."""
        processes.terminate(self._running[name], _END_PATIENCE_S)
        runtime = configuration.runtime(self._own, self._programs)
        for command in (*runtime, *configuration.agents(self._files, self._node, self._programs)):
            if command.name == name:
                self._spawn(command)

    def _spawn(self, command: Command) -> None:
        with (self._own.logs / f"{command.name}.log").open("ab") as log:
            self._running[command.name] = processes.spawn(
                command.words,
                cgroup_procs=tree.procs_files(self._node),
                environment={"HOME": str(self._own.folder), **self._programs.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _wait_for_api(self) -> None:
        deadline = time.monotonic() + _API_PATIENCE_S
        with api.client(self._files) as asking:
            while not self._ends():
                self.check()
                try:
                    if asking.get("/readyz").status_code == httpx.codes.OK:
                        return
                except httpx.HTTPError:
                    pass
                if time.monotonic() > deadline:
                    raise LabError(f"The API server was not ready within {_API_PATIENCE_S:.0f} s.")
                time.sleep(0.2)

    def check(self) -> None:
        """Raises LabError if a program has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                log = (self._own.logs / f"{name}.log").read_text(errors="replace") or _journal(process.pid)
                raise LabError(f"{name} ended with {process.returncode}: {log[-2000:]}")


def _journal(pid: int) -> str:
    """What a process wrote to the node's journal."""
    return packages.run(["journalctl", "--directory=/run/log/journal", "--output=cat", f"_PID={pid}"])


def _mount(files: Files, node: Node) -> None:
    """Keep what node programs store at fixed paths elsewhere, hidden from all others.

    The mounts end with the namespace, which ends with its last process.
    """
    packages.run(["mount", "--make-rshared", "/"])  # of this namespace alone: containers get volumes by propagation
    packages.run(["mount", "-t", "tmpfs", "tmpfs", "/run"])
    packages.run(["mount", "-t", "tmpfs", "tmpfs", "/var/log"])
    for folder in (Path("/run/log/journal"), Path("/run/systemd/journal"), Path("/run/systemd/journald.conf.d")):
        folder.mkdir(parents=True)
    Path("/run/systemd/journald.conf.d/lab.conf").write_text(configuration.JOURNALD_SETTINGS)
    upper, work = Path("/run/var-lib/upper"), Path("/run/var-lib/work")
    for folder in (upper, work, Path("/run/containerd"), Path("/run/lock")):
        folder.mkdir(parents=True)
    layers = f"lowerdir=/var/lib,upperdir={upper},workdir={work}"
    packages.run(["mount", "-t", "overlay", "-o", layers, "var-lib", "/var/lib"])
    for name in ("kubelet", "containerd"):  # images do not belong in memory
        place = Path("/var/lib") / name
        place.mkdir(exist_ok=True)
        kept = files.of(node).folder / name
        kept.mkdir()
        packages.run(["mount", "--bind", str(kept), str(place)])
    sysctls = Path("/run/sysctls")
    sysctls.mkdir()
    for name, value in WANTED_SYSCTLS.items():
        file = sysctls / name.replace("/", ".")
        file.write_text(f"{value}\n")
        if Path("/proc/sys", name).exists():
            packages.run(["mount", "--bind", str(file), f"/proc/sys/{name}"])
    _hide([root / other.cgroup for root in tree.roots() for other in files.nodes() if other != node])


def _hide(folders: Sequence[Path]) -> None:
    """Show empty folders instead."""
    empty = Path("/run/empty")
    empty.mkdir()
    for folder in folders:
        packages.run(["mount", "--bind", "-o", "ro", str(empty), str(folder)])


def _connect(node: Node, nodes: Sequence[Node]) -> None:
    """Take the address on the link that the starter makes."""
    deadline = time.monotonic() + _LINK_PATIENCE_S
    while subprocess.run(["ip", "link", "show", "eth0"], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise LabError("The link to the node did not appear.")
        time.sleep(0.02)
    for words in (
        ["link", "set", "lo", "up"],
        ["address", "add", f"{node.address}/{LINK_BITS}", "dev", "eth0"],
        ["link", "set", "eth0", "up"],
        ["route", "add", "default", "via", HOST_ADDRESS],
        *(["route", "add", other.pod_network, "via", other.address] for other in nodes if other != node),
    ):
        packages.run(["ip", *words])
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")  # of this network namespace


def main() -> int:
    """Run until told to end."""
    files, node, owner = Files.of_this_user(), Node(int(sys.argv[1])), int(sys.argv[2])
    own, nodes = files.of(node), files.nodes()
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: told.append(got))
    with own.lock.open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        owned_since = psutil.Process(owner).create_time() if owner else 0.0

        def ends() -> bool:
            asked = any(one != signal.SIGHUP for one in told)
            return asked or (bool(owner) and not _is_alive(owner, owned_since))

        try:
            tree.create(nodes)
            _mount(files, node)
            _connect(node, nodes)
            running = Running(files, node, building.ready(print), ends)
            running.start()
            while not ends():
                if signal.SIGHUP in told:
                    told.remove(signal.SIGHUP)
                    running.restart(own.restart.read_text())
                    own.restart.unlink()
                running.check()
                time.sleep(0.2)
        except (LabError, OSError) as error:
            own.failure.write_text(str(error))
            return 1
        finally:
            tree.remove_node(node)
    return 0


def _is_alive(pid: int, since: float) -> bool:
    try:
        process = psutil.Process(pid)
        # Killed processes stay zombies until their starter reaps them.
        return process.create_time() == since and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


if __name__ == "__main__":
    sys.exit(main())
