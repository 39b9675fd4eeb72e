"""Debian packages for labs, downloaded with apt-get and unpacked into the cache: nothing is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from labs.errors import LabError

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


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


def of_suite(suite: str) -> dict[str, str]:
    """An environment in which apt knows the packages of this suite of Debian alone; this machine's lists stay."""
    folder = cache("apt") / suite
    for name in ("lists/partial", "archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    mirror = os.environ.get("JITTERSCOPE_DEBIAN_MIRROR", "http://deb.debian.org/debian")
    (folder / "sources.list").write_text(f"deb [signed-by={_KEYRING}] {mirror} {suite} main\n")
    # apt would download as a user that may not enter the cache.
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder,
        "APT::Sandbox::User": "root",
    }
    settings = folder / "apt.conf"
    settings.write_text("".join(f'{name} "{value}";\n' for name, value in options.items()))
    return {"APT_CONFIG": str(settings)}


def unpack(packages: Iterable[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Download and unpack into `folder`. Raises LabError if apt does not know them or cannot be reached."""
    packages = list(packages)
    archives = folder / "archives"
    archives.mkdir(parents=True)
    try:
        run(["apt-get", "download", "-q", *packages], archives, environment)
    except LabError:
        if os.geteuid() != 0:
            raise
        # The lists may be missing, or name a file that has since been replaced.
        run(["apt-get", "update", "-q"], environment=environment)
        run(["apt-get", "download", "-q", *packages], archives, environment)
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


def libraries(environment: Mapping[str, str]) -> list[Path]:
    """The folders of libraries in such an environment."""
    return [Path(one) for one in environment.get("LD_LIBRARY_PATH", "").split(":") if one]


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
