"""Runs the reader of an untrusted file as a child process with limits; the outcome is a report or a refusal."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jitterscope.analyses.child import too_much_memory
from jitterscope.analyses.order import Order, Refused
from jitterscope.analyses.report import Report

_MOST_OUTPUT_BYTES = 64 * 1024 * 1024
_GRACE_S = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that the analysis of one file can use."""

    unpacked_bytes: int = 16 * 1024**3
    memory_bytes: int = 1024**3
    cpu_s: int = 600
    wall_s: int = 900


def analyse(
    path: Path, year: int, capture_program: Path, limits: Limits, tell: Callable[[float], None] = lambda _: None
) -> Report:
    """The report of a file; `tell` gets the progress of reading, 0..1. Raises Refused, whatever the file does."""
    order = Order(
        path=path.resolve(),
        year=year,
        capture_program=capture_program.resolve(),
        most_unpacked_bytes=limits.unpacked_bytes,
        most_memory_bytes=limits.memory_bytes,
        most_cpu_s=limits.cpu_s,
        most_wall_s=limits.wall_s,
    )
    with tempfile.TemporaryFile() as complaint:
        child = subprocess.Popen(
            # -B: the file size limit would truncate compiled modules, for everything that imports them later.
            [sys.executable, "-I", "-B", "-m", "jitterscope.analyses.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaint,
            # No environment of ours: the reader of a hostile file has no use for secrets.
            env={
                "PATH": os.environ.get("PATH", ""),
                "LANG": "C.UTF-8",
                "OPENBLAS_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            },
            start_new_session=True,
        )
        try:
            outcome = _follow(child, order, limits, tell)
        finally:
            _end(child)
        complaint.seek(0)
        said = complaint.read(4000).decode(errors="replace")
    if outcome is None:
        raise _ended(child.returncode, said, limits)
    if "problem" in outcome:
        problem = outcome["problem"]
        raise Refused(problem["type"], problem["title"], problem["detail"], problem["what_to_do"])
    return Report.model_validate(outcome["report"])


def _follow(
    child: subprocess.Popen[bytes], order: Order, limits: Limits, tell: Callable[[float], None]
) -> dict[str, dict[str, str]] | None:
    """The last message of the child; None if it ended without one. Raises Refused on timeout."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(order.model_dump_json().encode())
        child.stdin.close()
    except BrokenPipeError:
        return None
    deadline = time.monotonic() + limits.wall_s
    buffer = b""
    last: dict[str, dict[str, str]] | None = None
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdout, selectors.EVENT_READ)
        while True:
            if time.monotonic() > deadline:
                raise _too_long(limits.wall_s)
            if not ready.select(timeout=1.0):
                continue
            part = os.read(child.stdout.fileno(), 1 << 16)
            if not part:
                return last
            buffer += part
            if len(buffer) > _MOST_OUTPUT_BYTES:
                raise Refused(
                    "too-large-a-report", "Report too large", "The result exceeds the limit.", "Use a shorter file."
                )
            if b"\n" not in part:
                continue
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                message = json.loads(line)
                if "progress" in message:
                    tell(float(message["progress"]))
                else:
                    last = message


def _end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait(timeout=_GRACE_S)
    if child.stdout is not None:
        child.stdout.close()


def _ended(status: int, said: str, limits: Limits) -> Refused:
    if status == -signal.SIGXCPU:
        return Refused(
            "takes-too-much-cpu", "The analysis takes too much CPU time", f"The limit is {limits.cpu_s} s.",
            "Cut the file to the relevant minutes, or raise JITTERSCOPE_EVIDENCE_MAX_CPU_S.",
        )  # fmt: skip
    if status == -signal.SIGALRM:
        return _too_long(limits.wall_s)
    if "MemoryError" in said or "Cannot allocate memory" in said or "out of memory" in said:
        return too_much_memory(limits.memory_bytes)
    how = f"signal {-status}" if status < 0 else f"status {status}"
    lines = said.strip().splitlines()
    return Refused(
        "analysis-failed", "The analysis failed",
        f"The reader exited with {how}" + (f": {lines[-1][:300]}" if lines else "."),
        "Report it with the file if you can share it.",
    )  # fmt: skip


def _too_long(wall_s: int) -> Refused:
    return Refused(
        "takes-too-long", "The analysis takes too long", f"The limit is {wall_s} s.",
        "Cut the file to the relevant minutes, or raise JITTERSCOPE_EVIDENCE_MAX_WALL_S.",
    )  # fmt: skip
