"""Where the names are made: a file system of the lab's own, in a mount namespace that ends with the lab."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labs import packages, processes
from labs.errors import LabError

_HOLD = """
while mount -t ext4 -o loop,noatime,noinit_itable "$1" "$2" && echo ready; do
  read -r _
  umount "$2" && echo gone && read -r _ || exit 1
done
exit 1
"""
_BYTES_PER_FILE = 1_024


class Place:
    """A mounted file system. Programs enter it through the command that `inside` returns."""

    def __init__(self, holder: subprocess.Popen[bytes], folder: Path) -> None:
        self._holder, self.folder = holder, folder

    @property
    def pid(self) -> int:
        """PID of the process that holds the mount namespace."""
        return self._holder.pid

    def inside(self, command: list[str]) -> list[str]:
        """The command, wrapped so that it sees the file system."""
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", *command]

    def unmount(self) -> float:
        """Unmount it, which frees every name; returns how long that took (s)."""
        begin = time.monotonic()
        if not self._turn("gone"):
            raise LabError("The lab's file system cannot be unmounted: something else uses it.")
        return time.monotonic() - begin

    def mount(self) -> None:
        """Mount it again, after `unmount`."""
        if not self._turn("ready"):
            raise LabError("The lab's file system cannot be mounted again.")

    def _turn(self, wanted: str) -> bool:
        """Have the holder take its next step; returns whether it confirmed it."""
        assert self._holder.stdin is not None
        assert self._holder.stdout is not None
        self._holder.stdin.write(b"\n")
        self._holder.stdin.flush()
        return self._holder.stdout.readline() == wanted.encode() + b"\n"


@contextmanager
def place(folder: Path, files: int) -> Iterator[Place]:
    """A new file system with room for this many files; unmounted afterwards, even if this process is killed."""
    image, mounted = folder / "image", folder / "mounted"
    mounted.mkdir()
    size = max(64 << 20, files * _BYTES_PER_FILE)
    with image.open("wb") as file:
        file.truncate(size)
    quick = ["-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", "-O", "^has_journal"]
    packages.run(["mkfs.ext4", "-q", "-F", "-N", str(files + files // 500 + 1_000), *quick, str(image)])
    # A namespace ends with its last process, and its mounts end with it.
    holder = processes.spawn(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", _HOLD, "sh", str(image), str(mounted)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        if holder.stdout.readline() != b"ready\n":
            _, complaint = holder.communicate()
            raise LabError(f"Cannot mount a file system of the lab's own: {complaint.decode(errors='replace').strip()}")
        yield Place(holder, mounted)
    finally:
        processes.stop(holder)
