"""A Docker of its own for a lab: Debian 13's, in a network and a mount namespace and a cgroup.

Nothing is installed on this machine. The PID namespace is the machine's: a collector needs the real PIDs, for eBPF.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from jitterscope.devstack import debian
from jitterscope.settings import REPOSITORY
from labs import packages, processes
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import tree
from labs.kubernetes.images import SYSTEM_PATH, Image

# Everything runs below this cgroup: programs in the first leaf, containers below the other.
CGROUP = "jitterscope-compose"
_PROGRAMS, _CONTAINERS = f"{CGROUP}/system", f"{CGROUP}/docker"
_PACKAGES = ("docker.io", "docker-cli", "docker-compose", "iptables", "ca-certificates")
# As the engine sees it: the folder that a user would have checked out.
_PROJECT = "/srv/jitterscope"
_READY_PATIENCE_S, _END_PATIENCE_S = 60.0, 120.0
# Looks like a machine with Docker. $1: Debian's root, $2: the engine's folder, $3: the repository.
_MACHINE = f"""
ip link set lo up
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
cd "$2/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mkdir -p .{_PROJECT} var/lib/docker
mount --bind "$2/docker" var/lib/docker
mount --bind "$2/project" .{_PROJECT}
touch .{_PROJECT}/docker-compose.yml
mount --bind -o ro "$3/docker-compose.yml" .{_PROJECT}/docker-compose.yml
pivot_root . mnt
umount -l /mnt
echo ready
exec sleep infinity
"""
_DOCKERD = ("dockerd", f"--cgroup-parent=/{_CONTAINERS}", "--exec-opt=native.cgroupdriver=cgroupfs", "--log-level=warn")


@dataclass(slots=True)
class Engine:
    """A running Docker. `project`: folder with docker-compose.yml, where commands run."""

    machine: subprocess.Popen[bytes]
    folder: Path
    _dockerd: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def shell(self, script: str, standard_input: IO[bytes] | None = None) -> str:
        """Run commands as a user would type them in the project's folder. Raises LabError if one fails."""
        command = [*self._inside(), "sh", "-euc", f"cd {_PROJECT}\n{script}"]
        done = subprocess.run(command, stdin=standard_input or subprocess.DEVNULL, capture_output=True, check=False)
        output = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            raise LabError(f"`{script}` failed: {done.stderr.decode(errors='replace')[-3000:]}{output[-1000:]}")
        return output

    def load(self, image: Image) -> None:
        """Load an image, as a build or a pull would."""
        archive = self.folder / "image.tar"
        image.write(archive)
        with archive.open("rb") as content:
            self.shell("docker load --quiet", content)
        archive.unlink()

    def start(self) -> None:
        """Start Docker and wait until it answers. Raises LabError if it does not."""
        with self._log.open("ab") as log:
            self._dockerd.append(
                processes.spawn(
                    [*self._inside(), *_DOCKERD],
                    cgroup_procs=_procs_files(),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
        deadline = time.monotonic() + _READY_PATIENCE_S
        while True:
            try:
                self.shell("docker version")
            except LabError as error:
                if self._dockerd[-1].poll() is not None or time.monotonic() > deadline:
                    said = self._log.read_text(errors="replace")
                    raise LabError(f"Docker does not run: {error}\n{said[-3000:]}") from error
                time.sleep(0.2)
            else:
                return

    def restart(self) -> None:
        """End Docker, and with it all containers, and start it again, as a restart of the machine does."""
        processes.terminate(self._dockerd.pop(), _END_PATIENCE_S)
        self.start()

    def end(self) -> None:
        """Kill it with all containers."""
        _kill()
        for process in (self.machine, *self._dockerd):
            process.wait()

    @property
    def _log(self) -> Path:
        return self.folder / "dockerd.log"

    def _inside(self) -> list[str]:
        clean = ["env", "-i", f"PATH={SYSTEM_PATH}", "HOME=/root"]
        return ["nsenter", f"--target={self.machine.pid}", "--mount", "--net", *clean]


@contextmanager
def running(say: Say) -> Iterator[Engine]:
    """Docker, removed afterwards with all its containers and images, even if this process is killed.

    Raises LabError if it cannot start, or if another lab runs one.
    """
    if os.geteuid() != 0:
        raise LabError("Docker needs root: it makes namespaces and cgroups.")
    try:
        root = debian.system("docker", "trixie", _PACKAGES)
    except debian.DebianUnavailable as error:
        raise LabError(str(error)) from error
    with (packages.cache("compose") / "engine.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LabError("Another lab runs Docker.") from error
        remove()  # what killed labs have left
        guard = subprocess.Popen(
            [sys.executable, "-m", "labs.compose.guard", str(os.getpid())],
            cwd=REPOSITORY / "backend",
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            say("Starting Docker")
            engine = _started(root)
            try:
                engine.start()
                yield engine
            finally:
                engine.end()
        finally:
            guard.kill()
            guard.wait()
            remove()


def _procs_files() -> list[Path]:
    return [root / _PROGRAMS / "cgroup.procs" for root in tree.roots()]


def _folder() -> Path:
    return packages.cache("compose") / "engine"


def _started(root: Path) -> Engine:
    """The namespaces. Raises LabError if one of their mounts fails."""
    folder = _folder()
    for name in ("docker", "project"):
        (folder / name).mkdir(parents=True)
    tree.make([CGROUP, _CONTAINERS], [_PROGRAMS])
    apart = ["unshare", "--mount", "--net", "--propagation=private", "sh", "-euc", _MACHINE, "sh"]
    complaints = folder / "machine.log"
    with complaints.open("wb") as log:
        machine = processes.spawn(
            [*apart, str(root), str(folder), str(REPOSITORY)],
            cgroup_procs=_procs_files(),
            stdout=subprocess.PIPE,
            stderr=log,
        )
    assert machine.stdout is not None
    with machine.stdout as said:
        if said.readline() != b"ready\n":
            processes.stop(machine)
            raise LabError(f"The namespaces for Docker cannot be made: {complaints.read_text()}")
    return Engine(machine, folder)


def _kill() -> None:
    """Remove the cgroups; on a busy machine killed processes take a while to leave them."""
    deadline = time.monotonic() + _END_PATIENCE_S
    while any((root / CGROUP).exists() for root in tree.roots()) and time.monotonic() < deadline:
        tree.remove(CGROUP)


def remove() -> None:
    """Kill Docker and its containers, and remove what they wrote."""
    _kill()
    # Nothing is mounted below it: all mounts were in a mount namespace that has ended.
    shutil.rmtree(_folder(), ignore_errors=True)
