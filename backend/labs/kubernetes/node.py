"""The node: `python -m labs.kubernetes.node OWNER`, in network and mount namespaces of its own.

It starts the programs, and ends all of them, pods too, when it is told to (SIGTERM), when one of them ends, or when the
process OWNER is gone (0: nobody's). Its programs die with it even when it is killed; pods stay then, until
`cluster.remove`. The PID namespace is the machine's: collectors in pods need the real PIDs, for hostPID and eBPF.
"""

from __future__ import annotations

import fcntl
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import psutil

from labs import packages, processes
from labs.errors import LabError
from labs.kubernetes import building, configuration, tree
from labs.kubernetes.building import Programs
from labs.kubernetes.configuration import WANTED_SYSCTLS, Command
from labs.kubernetes.layout import API, HOST_ADDRESS, LINK_BITS, NODE_ADDRESS, Files

_API_PATIENCE_S = 180.0
_LINK_PATIENCE_S = 20.0


class Node:
    """The running programs."""

    def __init__(self, files: Files, programs: Programs, ends: Callable[[], bool]) -> None:
        self._files, self._programs, self._ends = files, programs, ends
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start everything. Raises LabError where a program ends or the API server does not come."""
        for command in configuration.storage(self._files, self._programs):
            self._spawn(command)
        self._wait_for_api()
        for command in configuration.control(self._files, self._programs):
            self._spawn(command)
        self._files.ready.touch()

    def _spawn(self, command: Command) -> None:
        with (self._files.logs / f"{command.name}.log").open("wb") as log:
            self._running[command.name] = processes.spawn(
                command.words,
                cgroup_procs=tree.procs_files(),
                environment={"HOME": str(self._files.folder), **self._programs.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _wait_for_api(self) -> None:
        pki, deadline = self._files.pki, time.monotonic() + _API_PATIENCE_S
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        with httpx.Client(verify=context, base_url=API, timeout=5, trust_env=False) as client:
            while not self._ends():
                self.check()
                try:
                    if client.get("/readyz").status_code == httpx.codes.OK:
                        return
                except httpx.HTTPError:
                    pass
                if time.monotonic() > deadline:
                    raise LabError(f"The API server was not ready within {_API_PATIENCE_S:.0f} s.")
                time.sleep(0.2)

    def check(self) -> None:
        """Raises LabError where a program has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                log = (self._files.logs / f"{name}.log").read_text(errors="replace") or _journal(process.pid)
                raise LabError(f"{name} ended with {process.returncode}: {log[-2000:]}")


def _journal(pid: int) -> str:
    """What a process wrote to the node's journal."""
    return packages.run(["journalctl", "--directory=/run/log/journal", "--output=cat", f"_PID={pid}"])


def _mount(files: Files) -> None:
    """What programs of a node keep at fixed places is kept elsewhere, and seen by nobody but them.

    The mounts go with the namespace, which goes with its last process.
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
    for name in ("kubelet", "containerd"):  # images do not belong into memory
        place = Path("/var/lib") / name
        place.mkdir(exist_ok=True)
        (files.folder / name).mkdir()
        packages.run(["mount", "--bind", str(files.folder / name), str(place)])
    sysctls = Path("/run/sysctls")
    sysctls.mkdir()
    for name, value in WANTED_SYSCTLS.items():
        file = sysctls / name.replace("/", ".")
        file.write_text(f"{value}\n")
        if Path("/proc/sys", name).exists():
            packages.run(["mount", "--bind", str(file), f"/proc/sys/{name}"])


def _connect() -> None:
    """Take the address on the link that the starter makes."""
    deadline = time.monotonic() + _LINK_PATIENCE_S
    while subprocess.run(["ip", "link", "show", "eth0"], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            raise LabError("The link to the node did not come.")
        time.sleep(0.02)
    for words in (
        ["link", "set", "lo", "up"],
        ["address", "add", f"{NODE_ADDRESS}/{LINK_BITS}", "dev", "eth0"],
        ["link", "set", "eth0", "up"],
        ["route", "add", "default", "via", HOST_ADDRESS],
    ):
        packages.run(["ip", *words])
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")  # of this network namespace


def main() -> int:
    """Run until told to end."""
    files, owner = Files.of_this_user(), int(sys.argv[1])
    told: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: told.append(got))
    with files.lock.open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        owned_since = psutil.Process(owner).create_time() if owner else 0.0

        def ends() -> bool:
            return bool(told) or (bool(owner) and not _is_alive(owner, owned_since))

        try:
            tree.create()
            _mount(files)
            _connect()
            node = Node(files, building.ready(print), ends)
            node.start()
            while not ends():
                node.check()
                time.sleep(0.2)
        except (LabError, OSError) as error:
            files.failure.write_text(str(error))
            return 1
        finally:
            tree.remove()
    return 0


def _is_alive(pid: int, since: float) -> bool:
    try:
        return psutil.Process(pid).create_time() == since
    except psutil.Error:
        return False


if __name__ == "__main__":
    sys.exit(main())
