"""The evidence folder: FOLDER/ORGANIZATION/ANALYSIS, and FOLDER/incoming during an upload."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from jitterscope.settings import settings

_INCOMING = "incoming"
# Space that must stay free for everything else on the disk.
RESERVE_BYTES = 256 * 1024 * 1024


def path_of(organization_id: int, analysis_id: int) -> Path:
    """Where the file of an analysis is stored. Both are numbers: no user-supplied name is part of a path."""
    return settings().evidence_path / str(int(organization_id)) / str(int(analysis_id))


def new_incoming(organization_id: int) -> Path:
    """A unique path for an upload of an organization; its folder exists and is private to the service."""
    folder = settings().evidence_path / _INCOMING
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / f"{int(organization_id)}-{secrets.token_hex(16)}"


def incoming_bytes(organization_id: int) -> int:
    """Bytes that unfinished uploads of an organization take, by whichever process they are received."""
    total = 0
    for path in (settings().evidence_path / _INCOMING).glob(f"{int(organization_id)}-*"):
        with contextlib.suppress(FileNotFoundError):  # finished meanwhile
            total += path.stat().st_size
    return total


def keep(incoming: Path, organization_id: int, analysis_id: int) -> None:
    """Move an upload to its place."""
    target = path_of(organization_id, analysis_id)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.replace(incoming, target)


def remove(organization_id: int, analysis_id: int) -> None:
    """Delete the file of an analysis, if it still exists."""
    path_of(organization_id, analysis_id).unlink(missing_ok=True)


def free_bytes() -> int:
    """Bytes that can still be written, less the reserve."""
    folder = settings().evidence_path
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return shutil.disk_usage(folder).free - RESERVE_BYTES


def stored(organization_id: int) -> Iterator[tuple[int, float]]:
    """(analysis, age in s) of every file of an organization."""
    folder = settings().evidence_path / str(int(organization_id))
    if folder.is_dir():
        now = time.time()
        for path in folder.iterdir():
            if path.name.isdigit():
                yield int(path.name), now - path.stat().st_mtime


def sweep_incoming(older_than_s: float) -> int:
    """Delete interrupted uploads; returns how many."""
    folder = settings().evidence_path / _INCOMING
    gone = 0
    if folder.is_dir():
        for path in folder.iterdir():
            if time.time() - path.stat().st_mtime > older_than_s:
                path.unlink(missing_ok=True)
                gone += 1
    return gone
