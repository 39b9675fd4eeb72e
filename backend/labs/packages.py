"""Debian packages for labs, downloaded with apt-get and unpacked into the cache: nothing is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from labs.errors import LabError


def cache(name: str) -> Path:
    """A folder in the cache, created if missing."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jitterscope" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(command: Sequence[str], folder: Path | None = None, environment: Mapping[str, str] | None = None) -> str:
    """Standard output of the command. Raises LabError with its stderr. `environment` is added to this process's."""
    variables = {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise LabError(f"`{' '.join(command)}` failed: {getattr(error, 'stderr', None) or error}") from error
    return done.stdout


def unpack(packages: Iterable[str], folder: Path) -> None:
    """Download and unpack into `folder`. Raises LabError if apt does not know them or cannot be reached."""
    packages = list(packages)
    archives = folder / "archives"
    archives.mkdir(parents=True)
    try:
        run(["apt-get", "download", "-q", *packages], archives)
    except LabError:
        if os.geteuid() != 0:
            raise
        run(["apt-get", "update", "-q"])  # the lists may be missing, or name a file that has since been replaced
        run(["apt-get", "download", "-q", *packages], archives)
    for archive in archives.glob("*.deb"):
        run(["dpkg-deb", "-x", str(archive), str(folder)])
    shutil.rmtree(archives)


def unpacked(package: str, *along: str) -> Path:
    """The cache folder of a package, unpacked at first use.

    With `along`, and the libraries that any of them needs and that this machine does not have.
    """
    folder = cache("packages") / package
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            wanted = [package, *along]
            needed = [library for one in wanted for library in missing_libraries(one)]
            unpack(dict.fromkeys([*wanted, *needed]), partial)
            # Atomically, so that a concurrent lab does not see a partial folder.
            partial.replace(folder)
        except OSError:
            if not folder.exists():  # otherwise another lab was faster
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Environment in which programs of an unpacked package find their libraries."""
    return {"LD_LIBRARY_PATH": ":".join(str(one) for one in folder.glob("usr/lib/*-linux-*"))}


def missing_libraries(package: str) -> list[str]:
    """Libraries that a package needs, directly or not, and that are not installed here."""
    without = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")
    listed = run(["apt-cache", "depends", "--recurse", *(f"--no-{one}" for one in without), package])
    libraries = sorted(set(re.findall(r"^(lib\S+)$", listed, re.MULTILINE)))
    shown = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n", *libraries],
        capture_output=True,
        text=True,
        check=False,  # it fails if one is unknown, but lists the others
    )
    installed = {line.split()[0] for line in shown.stdout.splitlines() if line.endswith(" installed")}
    return [one for one in libraries if one not in installed]
