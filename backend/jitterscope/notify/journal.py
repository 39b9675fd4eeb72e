"""The outcome of each delivery attempt, in one small file that outlives the worker.

The courier holds a lock on the file while it works and appends a line at each stage: `writing` before the first byte
leaves, `answer {…}` or `failed {…}` at the end, synced to disk. A process that finds the file later knows what happened
without asking the receiver:

    lock held                → still under way
    no line                  → nothing was sent
    `writing` and no more    → unknown: the courier itself died with the request on the wire
    `answer` or `failed`     → that
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Fate = Literal["under_way", "not_sent", "unknown", "answered", "missing"]


@dataclass(frozen=True)
class Record:
    """The contents of a journal file. `permanent` and `detail` describe a failure without an answer."""

    fate: Fate
    status: int = 0
    headers: dict[str, str] | None = None
    body: bytes = b""
    detail: str | None = None
    permanent: bool = False


def create(folder: Path, name: str) -> int:
    """Create a locked journal file; the courier inherits the descriptor, and the lock with it.

    Raises FileExistsError if this attempt was begun before.
    """
    path = folder / name
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    _sync_folder(folder)
    return descriptor


def note_writing(descriptor: int) -> None:
    """Record that the first byte is about to leave. Synced: a power cut must not make it look unsent."""
    _append(descriptor, "writing")


def note_answer(descriptor: int, status: int, headers: dict[str, str], body: bytes) -> None:
    """Record the receiver's answer."""
    content = {"status": status, "headers": headers, "body": base64.b64encode(body).decode()}
    _append(descriptor, "answer " + json.dumps(content))


def note_failed(descriptor: int, failure: str, detail: str, permanent: bool) -> None:
    """Record a failure without an answer; `failure` is not_sent or unknown."""
    _append(descriptor, "failed " + json.dumps({"failure": failure, "detail": detail, "permanent": permanent}))


def read(folder: Path, name: str) -> Record:
    """The outcome of an attempt."""
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return Record("missing")
    with os.fdopen(descriptor, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return Record("under_way")
        return _parse(file.read())


def remove(folder: Path, name: str) -> None:
    """Delete the file once the database has the outcome."""
    (folder / name).unlink(missing_ok=True)


def journal_id(folder: Path) -> str:
    """A random id of this folder, created on first use, that distinguishes our attempts from another host's."""
    path = folder / "id"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        fresh = folder / f"id.{os.getpid()}"
        fresh.write_text(os.urandom(8).hex())
        try:
            os.link(fresh, path)  # the first one wins
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
        _sync_folder(folder)
    return path.read_text()


@contextmanager
def alone(folder: Path, name: str) -> Iterator[bool]:
    """Whether no other process of this host is inside; the kernel releases the lock of a process that is killed."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / f"{name}.lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _parse(content: bytes) -> Record:
    record = Record("not_sent")
    # A torn last line (power cut while appending) has no newline and is ignored.
    for line in content.split(b"\n")[:-1]:
        word, _, rest = line.partition(b" ")
        if word == b"writing":
            record = Record("unknown", detail="the courier exited while the request was in flight")
        elif word == b"answer":
            answer = json.loads(rest)
            body = base64.b64decode(answer["body"])
            record = Record("answered", status=answer["status"], headers=answer["headers"], body=body)
        elif word == b"failed":
            failed = json.loads(rest)
            fate: Fate = "unknown" if failed["failure"] == "unknown" else "not_sent"
            record = Record(fate, detail=failed["detail"], permanent=failed["permanent"])
    return record


def _append(descriptor: int, line: str) -> None:
    os.write(descriptor, line.encode() + b"\n")
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
