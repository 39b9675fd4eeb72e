"""Child processes of a lab: started in their cgroup, and ended with the lab even if it is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def spawn(
    command: Sequence[str],
    *,
    cgroup_procs: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start a program inside the cgroups given by their cgroup.procs files.

    Call it from the main thread: the child ends when the thread that started it does.
    """
    return subprocess.Popen(
        command,
        env=None if environment is None else {"PATH": os.environ.get("PATH", ""), **environment},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        preexec_fn=_enter(cgroup_procs),
    )


def _enter(cgroup_procs: Sequence[Path]) -> Callable[[], None]:
    files = [os.fsencode(path) for path in cgroup_procs]

    def enter() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for path in files:
            descriptor = os.open(path, os.O_WRONLY)
            os.write(descriptor, b"0")
            os.close(descriptor)

    return enter


def terminate(process: subprocess.Popen[bytes], patience_s: float = 5.0) -> None:
    """Ask it to end, then kill it. Its pipes stay open for their readers."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def stop(process: subprocess.Popen[bytes]) -> None:
    """End it, and close its pipes."""
    terminate(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
