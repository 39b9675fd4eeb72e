"""The release before: the newest commit of this repository with an older schema."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from jitterscope.settings import REPOSITORY
from labs import packages
from labs.errors import LabError

# What the backend's image is made from, except UI and Go programs.
_BACKEND = ("backend/pyproject.toml", "backend/uv.lock", "backend/jitterscope")
_PARTS = ("Dockerfile", *_BACKEND, "migrations", "collector/systemd")


def checkout() -> tuple[Path, str]:
    """Its files, and its commit. Raises LabError without a git history."""
    newest = max((REPOSITORY / "migrations" / "versions").glob("*.py"))
    added = _git("log", "-1", "--format=%H", "--diff-filter=A", "--", str(newest.relative_to(REPOSITORY)))
    if not added:
        raise LabError(f"No commit adds {newest.name}: the lab needs the whole git history (git fetch --unshallow).")
    commit = _git("rev-parse", "--short", f"{added}^")
    folder = packages.cache("compose") / "older"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with subprocess.Popen(["git", "-C", REPOSITORY, "archive", commit, *_PARTS], stdout=subprocess.PIPE) as archive:
        unpacked = subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=False)
    if archive.returncode or unpacked.returncode:
        raise LabError(f"The files of {commit} cannot be read from git.")
    return folder, commit


def _git(*words: str) -> str:
    return packages.run(["git", "-C", str(REPOSITORY), *words]).strip()
