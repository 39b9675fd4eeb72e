"""A PostgreSQL in a cgroup of the lab, and a transaction that locks its table now and then."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from jitterscope.devstack.postgres import PostgresServer, StartFailed
from labs import processes
from labs.cgroups import LabCgroup
from labs.errors import LabError

ROWS = 10_000
TABLE = "items"
_ERRORS = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout)


class Database:
    """The server, with a table of prices."""

    def __init__(self, folder: Path, cgroup: LabCgroup) -> None:
        self._server, self._cgroup = PostgresServer(folder, durable=False), cgroup
        self._log = folder / "postgres.log"

    @property
    def url(self) -> str:
        return self._server.url()

    @property
    def port(self) -> int:
        return self._server.port

    def start(self) -> None:
        """Start it and create the table. Raises LabError."""
        try:
            self._server.initialize()
            with self._log.open("ab") as output:
                self._process = processes.spawn(
                    self._server.command(),
                    cgroup_procs=self._cgroup.procs_files(),
                    environment=self._server.flavour.environment,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            self._server.wait_ready()
        except StartFailed as error:
            raise LabError(str(error)) from error
        with psycopg.connect(self.url) as connection:
            connection.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, price int)")
            connection.execute(f"INSERT INTO {TABLE} SELECT n, n % 97 FROM generate_series(1, {ROWS}) AS n")  # noqa: S608

    def stop(self) -> None:
        """Fast shutdown: clients are disconnected."""
        with suppress(OSError, ValueError):
            os.kill(self._server.pid, signal.SIGINT)
            self._process.wait(10)
        processes.stop(self._process)

    def set(self, name: str, value: str) -> None:
        """Change a setting of the running server."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
            connection.execute("SELECT pg_reload_conf()")


class Locking:
    """Locks the table for a while, again and again from a given time: what a migration with a slow client does.

    It starts over if the server ends its session.
    """

    def __init__(self, database: Database, from_us: int, lock_ms: int, every_ms: int) -> None:
        self._database, self._from_s = database, from_us / 1e6
        self._lock_s, self._every_s = lock_ms / 1e3, every_ms / 1e3
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if self._lock_s > 0:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._lock_s > 0:
            self._thread.join()

    def _run(self) -> None:
        due = self._from_s + self._every_s / 2
        while not self._stop.wait(max(0.0, due - time.time())):
            with suppress(*_ERRORS), psycopg.connect(self._database.url) as connection:
                connection.execute(f"LOCK TABLE {TABLE} IN ACCESS EXCLUSIVE MODE")
                self._stop.wait(self._lock_s)
            due += self._every_s
