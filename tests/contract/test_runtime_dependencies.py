"""The programs start with what pyproject.toml lists, without packages that only development installs."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# Imported in a process that can find only listed packages. The first are those that celery and uvicorn load by name.
PROGRAM = """
import importlib, sys
blocked = set(sys.argv[1].split(","))
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in blocked:
            raise ModuleNotFoundError(f"{name} comes with development packages only", name=name)
sys.meta_path.insert(0, Refuse())
for name in sys.argv[2:]:
    importlib.import_module(name)
from jitterscope.kit.discovery import import_named
for leaf in ("endpoints", "tasks", "models", "cli"):
    import_named("jitterscope", leaf)
"""
ENTRIES = (
    "kombu.transport.redis", "celery.bin.worker", "celery.bin.beat", "celery.concurrency.thread",
    "uvicorn.protocols.http.auto", "jitterscope.main", "jitterscope.worker", "jitterscope.cli",
)  # fmt: skip


def closure(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Distributions that a distribution needs to run, including itself."""
    found: set[str] = set()
    waiting = [(canonicalize_name(name), extras)]
    seen = set(waiting)
    while waiting:
        current, wanted = waiting.pop()
        found.add(current)
        try:
            lines = metadata.requires(current) or []
        except metadata.PackageNotFoundError:  # for another platform
            continue
        for requirement in map(Requirement, lines):
            if any(not requirement.marker or requirement.marker.evaluate({"extra": extra}) for extra in {"", *wanted}):
                following = (canonicalize_name(requirement.name), frozenset(requirement.extras))
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
    return found


def start(blocked: set[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, ",".join(sorted(blocked)), *ENTRIES]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_nothing_of_the_development_packages_is_needed_to_run() -> None:
    allowed = closure("jitterscope")
    owners = metadata.packages_distributions()
    blocked = {
        module for module, names in owners.items() if not {canonicalize_name(name) for name in names} & allowed
    }  # fmt: skip
    assert {"pytest", "playwright", "mypy"} <= blocked
    assert not {"fastapi", "celery", "packaging"} & blocked
    assert (done := start(blocked)).returncode == 0, done.stderr
    # The check notices what is missing: kombu's Redis transport imports packaging but does not list it.
    assert "packaging" in start(blocked | {"packaging"}).stderr
