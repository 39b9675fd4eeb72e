"""A PostgreSQL server as an ordinary child process: the embedded one, or Debian's TimescaleDB."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
import structlog

from jitterscope.devstack import flavours
from jitterscope.devstack.flavours import Flavour
from jitterscope.devstack.ports import free_port

log = structlog.get_logger(__name__)
LAUNCH = Path(__file__).with_name("launch.py")
START_TIMEOUT_S = 120.0


class StartFailed(RuntimeError):
    """A server did not come up; the message includes the end of its log."""


class PostgresServer:
    """`with PostgresServer(folder) as server: server.url("postgres")`. The folder keeps the data between runs.

    `durable=False` skips fsync: right for tests, where the machine's page cache outlives any killed process.
    """

    def __init__(
        self, folder: Path, *, port: int = 0, password: str = "", flavour: Flavour | None = None, durable: bool = True
    ) -> None:
        self.folder = folder.resolve()
        self.flavour = flavour or flavours.selected()
        # One data folder per flavor: their formats differ.
        self.pgdata = self.folder / ("data" if self.flavour.name == "embedded" else f"data-{self.flavour.name}")
        self.port = port or free_port()
        self.password = password or secrets.token_urlsafe(24)
        self.durable = durable
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: str = "postgres") -> str:
        """Superuser URL; its password is this server's own secret."""
        return f"postgresql://postgres:{self.password}@127.0.0.1:{self.port}/{database}"

    def initialize(self) -> None:
        """Create the data folder if it does not exist."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if (self.pgdata / "PG_VERSION").exists():
            return
        with tempfile.NamedTemporaryFile("w", dir=self.folder, prefix="password-") as secret:
            secret.write(self.password)
            secret.flush()
            command = [
                *self.launcher(),
                str(self.flavour.bin / "initdb"),
                "-D",
                str(self.pgdata),
                "-U",
                "postgres",
                "--pwfile",
                secret.name,
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C.UTF-8",
                "--no-instructions",
                *([] if self.durable else ["--no-sync"]),
            ]
            done = subprocess.run(command, capture_output=True, text=True, env=self._environment(), check=False)
        if done.returncode != 0:
            raise StartFailed(f"initdb failed: {done.stderr.strip()[-2000:]}")

    def command(self) -> list[str]:
        """The complete command line of the server, so that a supervisor can run it."""
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "100",
            "shared_buffers": "256MB",
            "work_mem": "16MB",
            "maintenance_work_mem": "128MB",
            "max_wal_size": "2GB",
            "wal_compression": "on",
            "timezone": "UTC",
            "log_timezone": "UTC",
            "jit": "off",
            "huge_pages": "off",
            "synchronous_commit": "on",
            "restart_after_crash": "on",
            **({} if self.durable else {"fsync": "off", "full_page_writes": "off"}),
            **self.flavour.options,
        }
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return [*self.launcher(serving=True), str(self.flavour.bin / "postgres"), "-D", str(self.pgdata), *arguments]

    def launcher(self, *, serving: bool = False, with_stdin: bool = False) -> list[str]:
        """The launcher and its options, up to `--`."""
        parts = [sys.executable, "-I", "-S", str(LAUNCH), "--not-root"]
        if self.flavour.root is not None:
            parts += ["--root", str(self.flavour.root), "--bind", str(self.folder)]
        if serving:
            parts += ["--pgdata", str(self.pgdata)]
        if with_stdin:
            parts += ["--with-stdin"]
        return [*parts, "--"]

    def start(self) -> Self:
        """Start as a child that ends with this process, and wait until it answers."""
        self.initialize()
        command = self.command()
        command.insert(command.index("--"), "--with-stdin")
        with (self.folder / "postgres.log").open("ab") as output:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=self._environment(),
                start_new_session=True,
            )
        self.wait_ready()
        return self

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Return once a connection succeeds. Raises StartFailed with the end of the log."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
                return
            except psycopg.OperationalError as error:
                ended = self._process is not None and self._process.poll() is not None
                if ended or time.monotonic() > deadline:
                    raise StartFailed(f"PostgreSQL did not start: {error}\n{self._log_tail()}") from error
            time.sleep(0.05)

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        return int((self.pgdata / "postmaster.pid").read_text().split("\n", 1)[0])

    def kill(self) -> None:
        """SIGKILL the postmaster, as a crash would."""
        os.kill(self.pid, signal.SIGKILL)

    def stop(self) -> None:
        """Fast shutdown; does nothing if it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError, ValueError):
                self.kill()
            process.kill()
            process.wait()

    def _environment(self) -> dict[str, str]:
        # None of the caller's secrets; the flavor's libraries.
        return {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", **self.flavour.environment}

    def _log_tail(self) -> str:
        with contextlib.suppress(OSError):
            return (self.folder / "postgres.log").read_text(errors="replace")[-2000:]
        return ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
