"""A lab's own file system on a loop device, with I/O limits per cgroup.

The backing file names the process that made it, so that a later lab can unmount what a killed one left.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from labs import packages
from labs.cgroups import LabCgroup
from labs.errors import LabError

_PREFIX = "jitterscope-volume-"
_MEMORY = Path("/dev/shm")  # noqa: S108  a name with our pid, opened as root
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Volume:
    """`device` is "loop3", `number` its MAJOR:MINOR, `folder` where it is mounted."""

    device: str
    number: str
    folder: Path


@contextmanager
def volume(within: Path, size_mib: int) -> Iterator[Volume]:
    """An ext4 of that size, mounted in a new folder below `within`. Raises LabError if that is not possible here."""
    remove_stale_volumes()
    # In memory if there is room: the machine's disk also serves others, and the lab needs one to itself.
    room = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2 * size_mib * MIB
    image, folder = (_MEMORY if room else within) / f"{_PREFIX}{os.getpid()}", within / "volume"
    with image.open("wb") as file:
        file.truncate(size_mib * MIB)  # sparse: only what is written takes up space
    folder.mkdir()
    try:
        device = packages.run(["losetup", "--find", "--show", str(image)]).strip()
    finally:
        image.unlink()  # the device keeps it
    try:
        # Without lazy initialization: the kernel would otherwise go on initializing and write in the middle of a run.
        packages.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device])
        packages.run(["mount", "-o", "noatime", device, str(folder)])
        number = Path(f"/sys/class/block/{Path(device).name}/dev").read_text().strip()
        yield Volume(Path(device).name, number, folder)
    finally:
        _remove(device)


def limit_io(cgroup: LabCgroup, volume: Volume, *, read_bps: int = -1, write_bps: int = -1) -> None:
    """Limit the bytes/s that a cgroup can read and write there; -1: no limit. Raises LabError."""
    folder = cgroup.io
    if folder is None:
        raise LabError("The kernel has no I/O limits: neither the blkio controller of cgroup v1 nor cgroup v2.")
    try:
        if cgroup.version == 2:
            told = {"rbps": read_bps, "wbps": write_bps}
            text = " ".join(f"{name}={'max' if value < 0 else value}" for name, value in told.items())
            (folder / "io.max").write_text(f"{volume.number} {text}")
            return
        for name, value in (("read_bps", read_bps), ("write_bps", write_bps)):
            # 0 removes a limit, even one that was never set.
            (folder / f"blkio.throttle.{name}_device").write_text(f"{volume.number} {max(value, 0)}")
    except OSError as error:
        raise LabError(f"The kernel rejects the I/O limits {read_bps}, {write_bps} bytes/s: {error}") from error


def remove_stale_volumes() -> list[str]:
    """Unmount and detach volumes of killed labs; returns their devices."""
    removed = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            match = re.search(rf"{_PREFIX}(\d+)", backing.read_text())
            if match and not psutil.pid_exists(int(match[1])):
                removed.append(f"/dev/{backing.parent.parent.name}")
                _remove(removed[-1])
    return removed


def _remove(device: str) -> None:
    for line in Path("/proc/mounts").read_text().splitlines():
        source, folder, *_ = line.split()
        if source == device:
            # If something is still open there, it is unmounted once that is closed.
            with suppress(LabError):
                packages.run(["umount", "--lazy", folder])
    with suppress(LabError):
        packages.run(["losetup", "--detach", device])
