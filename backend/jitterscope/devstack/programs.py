"""Command lines of the stack's programs."""

from __future__ import annotations

import sys
from pathlib import Path

from jitterscope.devstack.postgres import LAUNCH
from jitterscope.devstack.state import StateFolder
from jitterscope.devstack.supervisor import Program

_PYTHON = [sys.executable, "-m"]


def python_programs(state: StateFolder, api_port: int) -> list[Program]:
    """API, worker, and beat. The API waits for the schema, the others for the API, which gets the CPU first."""
    gate = _gate(state.migrated)
    api = "uvicorn --factory jitterscope.main:create_app --host 127.0.0.1 --no-server-header --no-access-log"
    limits = "--no-proxy-headers --timeout-graceful-shutdown 3 --log-level warning"
    celery = [*_gate(state.serving), *_PYTHON, "celery", "-A", "jitterscope.worker:app"]
    # Threads: one process that a SIGKILL ends completely, without orphaned children.
    worker = "worker --pool threads --concurrency 4 --without-gossip --without-mingle --loglevel INFO"
    beat = "beat --pidfile= --loglevel WARNING --schedule"
    return [
        Program("api", [*gate, *_PYTHON, *api.split(), *limits.split(), "--port", str(api_port)], 20),
        Program("worker", [*celery, *worker.split()], 20),
        Program("beat", [*celery, *beat.split(), str(state.path / "beat-schedule")], 20),
    ]


def collector(state: StateFolder, binary: Path, server_url: str, arguments: tuple[str, ...]) -> Program:
    """The collector of this machine."""
    command = [str(binary), "run", "--server", server_url, "--token-file", str(state.collector_token)]
    return Program("collector", [*_gate(state.serving), *command, "--spool-dir", str(state.spool), *arguments], 30)


def guardian(owner_pid: int) -> Program:
    """The program that ends the stack when the process that started it is gone."""
    return Program("guardian", [*_PYTHON, "jitterscope.devstack.guardian", str(owner_pid)], 1)


def _gate(file: Path) -> list[str]:
    """A prefix that delays a command until the file exists. Restarts find it and do not wait."""
    return [sys.executable, "-I", "-S", str(LAUNCH), "--wait-file", str(file), "--"]
