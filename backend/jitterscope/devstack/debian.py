"""Debian systems in cache folders, for programs that need one: nothing is installed on this machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path


class DebianUnavailable(RuntimeError):
    """The system cannot be set up here; the message says what to do."""


def cache_folder() -> Path:
    """The folder for downloads that outlive a checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jitterscope"


def system(name: str, suite: str, packages: Sequence[str]) -> Path:
    """The root folder of a minimal Debian with these packages, created at first use. Raises DebianUnavailable.

    `name` must change with suite and packages: an existing system of that name is used as it is.
    """
    root = cache_folder() / name
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            _debootstrap(root, suite, packages)
    return root


def _debootstrap(root: Path, suite: str, packages: Sequence[str]) -> None:
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        raise DebianUnavailable(
            f"{', '.join(packages)} of Debian {suite} is not in {root} yet. Run once as root, with debootstrap "
            "(apt-get install debootstrap)."
        )
    partial = root.with_name(f"{root.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    # It mounts /proc there, in a separate mount namespace that ends with it, even when it is killed.
    command = ["unshare", "--mount", "debootstrap", "--variant=minbase"]
    command += [f"--include={','.join(packages)}", suite, str(partial)]
    mirror = os.environ.get("JITTERSCOPE_DEBIAN_MIRROR")
    done = subprocess.run([*command, *([mirror] if mirror else [])], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DebianUnavailable(f"debootstrap failed: {done.stdout[-1500:]}{done.stderr[-500:]}")
    partial.rename(root)
