"""Debian 12 with its systemd as PID 1, in namespaces of its own except for the network.

`/proc/sys` and `/sys` are read-only, and it can neither set the clock nor load modules: it changes no other program's.
It ends with this process: when PID 1 is killed, the kernel kills all processes of its PID namespace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from jitterscope.devstack import debian
from labs import processes
from labs.console import Say
from labs.errors import LabError
from labs.kubernetes import tree
from labs.kubernetes.images import SYSTEM_PATH

CGROUP = "jitterscope-systemd"
HOSTNAME = "lab-systemd"
_PACKAGES = ("systemd", "systemd-sysv", "dbus", "curl", "ca-certificates", "sudo")
_BOOT_PATIENCE_S = 120.0
_UP = ("running", "degraded")
# $1: Debian's root, $2: a folder, $3: commands that mount the cgroups. Mounts are shared, because systemd hands over
# credentials by propagation; in a container it leaves this to the one that made it.
_START = f"""
mkdir -p "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
cd "$2/root"
echo {HOSTNAME} > etc/hostname
: > etc/machine-id
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
[ ! -e proc/sysrq-trigger ] || mount --bind /dev/null proc/sysrq-trigger
mount -t sysfs -o ro sysfs sys
mount -t tracefs tracefs sys/kernel/tracing
sh -euc "$3"
mount -t tmpfs -o mode=755 dev dev
for one in null zero full random urandom tty; do touch dev/$one; mount --bind /dev/$one dev/$one; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
pivot_root . mnt
mount --make-rshared /
exec setpriv --bounding-set=-sys_time,-sys_module,-sys_rawio \\
  sh -euc 'umount -l /mnt; exec env -i container=lab PATH={SYSTEM_PATH} /lib/systemd/systemd --unit=multi-user.target'
"""
_NAMESPACES = ("--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--cgroup", "--propagation=private")
# Options of a cgroup v1 mount that say nothing about its controllers.
_OF_MOUNTS = {"rw", "ro", "relatime", "noatime", "nosuid", "nodev", "noexec", "xattr", "clone_children"}


@dataclass(frozen=True, slots=True)
class Machine:
    """A running system. `pid`: of its PID 1, as this machine sees it."""

    pid: int

    def run(self, command: str) -> str:
        """Run a command there as root. Raises LabError if it fails."""
        done = self.attempt(command)
        if done.returncode != 0:
            raise LabError(f"`{command}` failed: {done.stderr[-2000:]}{done.stdout[-2000:]}")
        return done.stdout

    def attempt(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command there as root, whatever comes of it."""
        inside = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--ipc", "--uts", "--cgroup"]
        clean = ["env", "-i", f"PATH={SYSTEM_PATH}", "HOME=/root", "SYSTEMD_COLORS=0", "SYSTEMD_PAGER="]
        return subprocess.run(
            [*inside, *clean, "sh", "-euc", command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def running(folder: Path, say: Say) -> Iterator[Machine]:
    """Boot it in an empty folder; it ends with the context, or with this process. Raises LabError if it does not."""
    if os.geteuid() != 0:
        raise LabError("It makes namespaces and cgroups, which needs root.")
    try:
        root = debian.system("systemd", "bookworm", _PACKAGES)
    except debian.DebianUnavailable as error:
        raise LabError(str(error)) from error
    tree.remove(CGROUP)  # of a killed run; nothing runs there any more
    tree.make([CGROUP], [])
    console = folder / "console.log"
    with console.open("wb") as log:
        process = processes.spawn(
            ["unshare", *_NAMESPACES, "sh", "-euc", _START, "sh", str(root), str(folder), _cgroups()],
            cgroup_procs=[top / CGROUP / "cgroup.procs" for top in tree.roots()],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _booted(process, console, say)
    finally:
        process.kill()  # and, by --kill-child, PID 1
        process.wait()
        tree.remove(CGROUP)
        shutil.rmtree(folder, ignore_errors=True)


def _booted(process: subprocess.Popen[bytes], console: Path, say: Say) -> Machine:
    say("Booting Debian with systemd")
    deadline, state = time.monotonic() + _BOOT_PATIENCE_S, ""
    while time.monotonic() < deadline and process.poll() is None:
        for child in psutil.Process(process.pid).children():
            if child.name() == "systemd":
                machine = Machine(child.pid)
                state = machine.attempt("systemctl is-system-running").stdout.strip()
                if state in _UP:
                    return machine
        time.sleep(0.2)
    raise LabError(f"systemd did not start ({state or 'it ended'}): {console.read_text(errors='replace')[-3000:]}")


def _cgroups() -> str:
    """Commands that mount the hierarchies of this machine at the same paths, each from the own cgroup down."""
    lines = ["mount -t tmpfs -o mode=755 cgroup sys/fs/cgroup"]
    for row in Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options = row.split()[:4]
        if kind == "cgroup2" and place == "/sys/fs/cgroup":
            return "mount -t cgroup2 cgroup2 sys/fs/cgroup"
        if kind in ("cgroup", "cgroup2"):
            controllers = [one for one in options.split(",") if one not in _OF_MOUNTS]
            named = ["none"] if any(one.startswith("name=") for one in controllers) else []
            told = f"-o {','.join([*named, *controllers])} " if kind == "cgroup" else ""
            lines += [f"mkdir .{place}", f"mount -t {kind} {told}cgroup .{place}"]
    return "\n".join(lines)
