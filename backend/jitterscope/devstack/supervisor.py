"""supervisord: writes its configuration, starts and stops it, queries the state of its programs."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from supervisor.xmlrpc import SupervisorTransport

from jitterscope.devstack.state import StateFolder, write_private


@dataclass(frozen=True, slots=True)
class Program:
    """A process that is restarted whenever it ends, even after SIGKILL."""

    name: str
    command: list[str]
    priority: int  # started in this order, stopped in reverse
    stop_signal: str = "TERM"
    stop_wait_s: int = 15


def configuration(state: StateFolder, programs: list[Program], working_folder: Path) -> str:
    """The text of supervisord.conf."""
    parts = [
        "[unix_http_server]",
        f"file={escape(state.supervisor_socket)}",
        "chmod=0600",
        "",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
        "",
        "[supervisord]",
        f"pidfile={escape(state.supervisor_pid)}",
        f"logfile={escape(state.logs / 'supervisord.log')}",
        "logfile_maxbytes=1MB",
        "logfile_backups=1",
        f"childlogdir={escape(state.logs)}",
        "silent=true",
        "umask=077",
        f"directory={escape(working_folder)}",
        "",
    ]
    for program in programs:
        parts += [
            f"[program:{program.name}]",
            f"command={escape(shlex.join(program.command))}",
            f"priority={program.priority}",
            "autostart=true",
            "autorestart=true",
            "startsecs=0",
            "startretries=1000000",
            f"stopsignal={program.stop_signal}",
            f"stopwaitsecs={program.stop_wait_s}",
            "killasgroup=true",
            f"stdout_logfile={escape(state.logs / (program.name + '.log'))}",
            "stdout_logfile_maxbytes=10MB",
            "stdout_logfile_backups=1",
            "redirect_stderr=true",
            "",
        ]
    return "\n".join(parts)


def escape(value: object) -> str:
    """Escape a value: supervisord expands %(name)s."""
    return str(value).replace("%", "%%")


class Supervisor:
    """The supervisord of one state folder."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state

    def start(self, text: str, environment: Mapping[str, str]) -> None:
        """Start supervisord in the background; its programs get exactly this environment."""
        write_private(self._state.supervisor_configuration, text)
        self._state.supervisor_socket.unlink(missing_ok=True)
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                "-m",
                "supervisor.supervisord",
                "-c",
                str(self._state.supervisor_configuration),
            ],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"supervisord did not start: {done.stderr.strip() or done.stdout.strip()}")

    @property
    def pid(self) -> int | None:
        """supervisord's process id; None if it is not running."""
        try:
            pid = int(self._state.supervisor_pid.read_text())
            command = psutil.Process(pid).cmdline()
        except (OSError, ValueError, psutil.Error):
            return None
        return pid if str(self._state.supervisor_configuration) in command else None

    def programs(self) -> dict[str, dict[str, Any]]:
        """Name → what supervisord knows: statename, pid, description."""
        with self._proxy() as proxy:
            found: Any = proxy.getAllProcessInfo()
        return {entry["name"]: entry for entry in found}

    def stop_program(self, name: str) -> None:
        """Stop one program until it is started again."""
        with self._proxy() as proxy:
            proxy.stopProcess(name)

    def start_program(self, name: str) -> None:
        """Start a stopped program."""
        with self._proxy() as proxy:
            proxy.startProcess(name)

    def stop(self, timeout_s: float = 60.0) -> None:
        """Stop all programs in order, then supervisord itself; kill what is left."""
        pid = self.pid
        if pid is None:
            return
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        process.send_signal(signal.SIGTERM)
        _, alive = psutil.wait_procs([process], timeout=timeout_s)
        for left in alive or [one for one in family if one.is_running()]:
            with contextlib.suppress(psutil.Error):
                left.kill()
        until = time.monotonic() + 10
        for one in family:
            # FileNotFoundError: it is gone, and its number is that of a thread, which psutil does not expect.
            with contextlib.suppress(psutil.TimeoutExpired, FileNotFoundError):
                one.wait(max(0, until - time.monotonic()))
        self._state.supervisor_pid.unlink(missing_ok=True)
        socket = self._state.supervisor_socket
        socket.unlink(missing_ok=True)
        if socket.parent != self._state.path:
            with contextlib.suppress(OSError):
                os.rmdir(socket.parent)

    @contextlib.contextmanager
    def _proxy(self) -> Iterator[Any]:
        transport = SupervisorTransport(serverurl=f"unix://{self._state.supervisor_socket}")
        try:
            yield xmlrpc.client.ServerProxy("http://localhost", transport=transport).supervisor
        finally:
            connection = transport.connection
            transport.close()
            if connection is not None and connection.sock is not None:
                connection.sock.close()
