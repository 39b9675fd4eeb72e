"""Boots a Debian kernel in qemu (software emulation) with an initramfs of busybox, given files, and an init script."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from labs import packages, processes
from labs.errors import LabError

KERNEL_PACKAGE = "linux-image-cloud-amd64"
NEEDED = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static", "cpio": "cpio", "dpkg-deb": "dpkg"}
# A machine that needs a minute when it has the CPUs to itself needs more than two beside a whole test run.
_PATIENCE_S = 480.0
_INIT_HEAD = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs none /dev
exec </dev/ttyS0 >/dev/ttyS0 2>&1
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t cgroup2 none /sys/fs/cgroup
mount -t tracefs none /sys/kernel/tracing
mount -t tmpfs none /tmp
ip link set lo up 2>/dev/null || ifconfig lo 127.0.0.1
stty raw -F /dev/ttyS1
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the machine printed on its console, and what its script wrote to /dev/ttyS1."""

    console: str
    output: bytes


def missing_tools() -> list[str]:
    """Debian packages to install before a machine can boot."""
    return [package for tool, package in NEEDED.items() if shutil.which(tool) is None]


def kernel(suite: str = "") -> Path:
    """Debian's current cloud kernel, downloaded with apt-get at first use; JITTERSCOPE_VM_KERNEL overrides it.

    With `suite`, the one of this suite of Debian as it is now, whatever this machine runs.
    """
    given = os.environ.get("JITTERSCOPE_VM_KERNEL")
    if given and not suite:
        return Path(given)
    environment = packages.of_suite(suite) if suite else {}
    if suite:
        packages.run(["apt-get", "update", "-q"], environment=environment)
    package = _kernel_package(environment)
    image = packages.cache("kernels") / package.removeprefix("linux-image-")
    if not image.exists():
        _download(package, image, environment)
    return image


def _kernel_package(environment: Mapping[str, str]) -> str:
    """The current target of Debian's metapackage. A fresh system has no package lists yet: root fetches them."""
    for attempt in range(2):
        if found := _dependency(KERNEL_PACKAGE, "linux-image-", environment):
            return found
        if attempt == 0 and os.geteuid() == 0:
            packages.run(["apt-get", "update", "-q"], environment=environment)
    raise LabError(f"apt knows no {KERNEL_PACKAGE}: run `apt-get update`, or point JITTERSCOPE_VM_KERNEL to a kernel.")


def _dependency(package: str, prefix: str, environment: Mapping[str, str]) -> str:
    """The first dependency whose name starts with `prefix`, or "" if there is none or apt does not know the package."""
    try:
        listed = packages.run(["apt-cache", "depends", package], environment=environment)
    except LabError:
        return ""
    match = re.search(rf"Depends: ({re.escape(prefix)}\S+)", listed)
    return match[1] if match else ""


def _download(package: str, image: Path, environment: Mapping[str, str]) -> None:
    # Up to Debian 13 the package has the kernel itself; later ones depend on the package that has it.
    package = _dependency(package, "linux-binary-", environment) or package
    folder = image.with_name(f"{image.name}.{os.getpid()}")
    try:
        packages.unpack([package], folder, environment)
        next(folder.rglob("vmlinuz*")).replace(image)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def initramfs(folder: Path, script: str, programs: dict[str, Path]) -> Path:
    """An initramfs whose init mounts the usual file systems, runs `script`, and powers off."""
    root = folder / "root"
    for name in ("bin", "dev", "proc", "sys", "tmp", "etc"):
        (root / name).mkdir(parents=True)
    busybox = shutil.which("busybox") or "busybox"
    for name, source in {"busybox": Path(busybox), **programs}.items():
        shutil.copy(source, root / "bin" / name)
        (root / "bin" / name).chmod(0o755)
    (root / "etc" / "machine-id").write_text("6a697474657273636f70652d766d2d31\n")
    (root / "init").write_text(f"{_INIT_HEAD}{script}\npoweroff -f\n")
    (root / "init").chmod(0o755)
    image = folder / "initramfs.cpio"
    names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with image.open("wb") as target:
        subprocess.run(
            ["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"],
            input=names.encode(),
            stdout=target,
            cwd=root,
            check=True,
        )
    return image


@dataclass(frozen=True, slots=True)
class Machine:
    """A running machine. `console` and `output`: what it has printed, and what it has written to /dev/ttyS1 so far."""

    process: subprocess.Popen[bytes]
    console: Path
    output: Path


@contextmanager
def running(
    folder: Path,
    kernel_image: Path,
    initrd: Path,
    options: str,
    *devices: str,
    cpus: int = 2,
    memory_mib: int = 1024,
) -> Iterator[Machine]:
    """A machine, which ends with the context. `options`: of the kernel. `devices`: further options of qemu."""
    console, output = folder / "console.log", folder / "output.bin"
    # With a thread for each CPU, one can run code that the kernel has just patched on another ("Oops: int3" in the
    # scheduler when the first CPU limit was set), and beside a whole test run machines hung, using all the CPU time.
    command = [
        "qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-smp", str(cpus),
        "-m", str(memory_mib), "-nodefaults", "-no-reboot", "-display", "none",
        "-kernel", str(kernel_image), "-initrd", str(initrd),
        "-append", f"console=ttyS0 quiet panic=-1 {options}",
        "-serial", f"file:{console}", "-serial", f"file:{output}", *devices,
    ]  # fmt: skip
    process = processes.spawn(command, stderr=subprocess.PIPE)
    try:
        yield Machine(process, console, output)
    finally:
        processes.stop(process)


def boot(
    folder: Path,
    image: Path,
    *,
    kernel_image: Path | None = None,
    cpus: int = 2,
    memory_mib: int = 1024,
) -> Outcome:
    """Run until the machine powers off. Raises LabError with the end of its console if it does not."""
    with running(folder, kernel_image or kernel(), image, "", cpus=cpus, memory_mib=memory_mib) as machine:
        try:
            _, complaint = machine.process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            used = psutil.Process(machine.process.pid).cpu_times()
            raise LabError(
                f"The machine did not end within {_PATIENCE_S:.0f} s; qemu used {used.user + used.system:.0f} s "
                f"of CPU time:\n{tail(machine.console)}"
            ) from None
    if machine.process.returncode != 0:
        raise LabError(f"qemu failed: {complaint.decode(errors='replace')}\n{tail(machine.console)}")
    return Outcome(machine.console.read_text(errors="replace"), machine.output.read_bytes())


def tail(console: Path) -> str:
    """The end of what a machine printed."""
    return console.read_text(errors="replace")[-3000:] if console.exists() else "(it printed nothing)"
