"""The whole product on one machine: PostgreSQL, Valkey, API, worker, beat, collector, under supervisord.

with Stack(folder, collector=False) as stack:
    httpx.get(stack.url + "/readyz")
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from jitterscope.devstack import flavours, programs
from jitterscope.devstack.postgres import PostgresServer, StartFailed
from jitterscope.devstack.state import ADMIN_EMAIL, Ports, StateFolder, write_private
from jitterscope.devstack.supervisor import Program, Supervisor, configuration
from jitterscope.devstack.valkey import ValkeyServer
from jitterscope.schema import bootstrap, runner
from jitterscope.settings import REPOSITORY
from jitterscope.tenancy import founding

COLLECTOR = REPOSITORY / "bin" / "jitterscope-collector"
Say = Callable[[str], None]


class Stack:
    """One running product. Its folder keeps data, secrets, and ports between starts.

    `owner_pid`: stop everything when that process is gone (tests and labs pass their own). `durable=False` skips fsync.
    `environment` adds or overrides JITTERSCOPE_* settings of API, worker, and collector.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 0,
        collector: bool = True,
        collector_arguments: tuple[str, ...] = (),
        database: str | None = None,
        durable: bool = True,
        owner_pid: int | None = None,
        environment: Mapping[str, str] | None = None,
        say: Say = lambda text: None,
    ) -> None:
        self.state = StateFolder(folder)
        self._port, self._collector, self._collector_arguments = port, collector, collector_arguments
        self._flavour = flavours.selected(database)
        self._durable, self._owner_pid, self._extra, self._say = durable, owner_pid, dict(environment or {}), say
        self.supervisor = Supervisor(self.state)
        self.organization_id = 0

    def start(self) -> Self:
        """Start what is not running yet and wait until /readyz returns 200. Calling it again changes nothing."""
        self.state.prepare()
        self._secrets = self.state.load_secrets()
        if self.supervisor.pid is not None:
            self._read()
            self._wait_ready()
            return self
        self._ports = self.state.choose_ports(self._port)
        self._make_servers(self._ports)
        self.state.migrated.unlink(missing_ok=True)
        self.state.serving.unlink(missing_ok=True)
        self._say("Starting PostgreSQL and Valkey")
        self._postgres.initialize()
        self._valkey.initialize()
        self.supervisor.start(configuration(self.state, self._programs(), REPOSITORY / "backend"), self._environment())
        try:
            self._postgres.wait_ready()
            self._valkey.wait_ready()
            self._say("Bringing the schema up to date")
            self._set_up()
            self._say("Starting API, worker and collector")
            self._wait_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop everything; the data stays."""
        self.supervisor.stop()

    @property
    def url(self) -> str:
        """The URL of the API and the UI."""
        return f"http://127.0.0.1:{self._ports.api}"

    @property
    def database_url(self) -> str:
        """The URL for the application role, which row-level security applies to."""
        return self._postgres_url("jitterscope_app", self._secrets.app_password)

    @property
    def owner_database_url(self) -> str:
        """The URL for the owner of the schema."""
        return self._postgres_url("jitterscope_owner", self._secrets.owner_password)

    @property
    def superuser_url(self) -> str:
        """The URL for PostgreSQL's superuser, in a separate database."""
        return self._postgres.url()

    @property
    def valkey_url(self) -> str:
        return f"redis://:{self._secrets.valkey_password}@127.0.0.1:{self._ports.valkey}/0"

    @property
    def secret_key(self) -> str:
        """JITTERSCOPE_SECRET_KEY of this stack."""
        return self._secrets.secret_key

    @property
    def admin(self) -> tuple[str, str]:
        """Email address and password of the administrator."""
        return ADMIN_EMAIL, self._secrets.admin_password

    def create_ingest_token(self, organization_id: int | None = None, name: str = "stack") -> str:
        """Create an ingest token, by default in the first organization."""
        return founding.make_token(self.owner_database_url, organization_id or self.organization_id, "ingest", name)

    def create_api_token(self, organization_id: int | None = None, scopes: tuple[str, ...] = ("*:*",)) -> str:
        """Create an API token, by default with every scope but ingest."""
        return founding.make_token(
            self.owner_database_url, organization_id or self.organization_id, "api", "stack", scopes
        )

    def pids(self) -> dict[str, int]:
        """Program name → process id, for running programs."""
        return {name: entry["pid"] for name, entry in self.supervisor.programs().items() if entry["pid"]}

    @property
    def postgres_data(self) -> Path:
        """PostgreSQL's data folder."""
        return self._postgres.pgdata

    def log(self, program: str) -> Path:
        """The program's log file."""
        return self.state.logs / f"{program}.log"

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _postgres_url(self, role: str, password: str) -> str:
        return f"postgresql://{role}:{password}@127.0.0.1:{self._ports.postgres}/jitterscope"

    def _make_servers(self, ports: Ports) -> None:
        self._postgres = PostgresServer(
            self.state.postgres,
            port=ports.postgres,
            password=self._secrets.postgres_password,
            flavour=self._flavour,
            durable=self._durable,
        )
        self._valkey = ValkeyServer(self.state.valkey, port=ports.valkey, password=self._secrets.valkey_password)

    def _programs(self) -> list[Program]:
        made = [
            Program("postgres", self._postgres.command(), 10, "INT", 30),
            Program("valkey", self._valkey.command(), 10),
            *programs.python_programs(self.state, self._ports.api),
        ]
        if self._collector:
            if not COLLECTOR.exists():
                raise StartFailed(f"{COLLECTOR} is missing: run `make build` first")
            made.append(programs.collector(self.state, COLLECTOR, self.url, self._collector_arguments))
        if self._owner_pid is not None:
            made.append(programs.guardian(self._owner_pid))
        return made

    def _environment(self) -> dict[str, str]:
        """Only what programs need from the caller's environment: no stray settings, no secrets."""
        kept = {
            name: os.environ[name]
            for name in ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME")
            if name in os.environ
        }
        return {
            **kept,
            "JITTERSCOPE_DATABASE_URL": self.database_url,
            "JITTERSCOPE_VALKEY_URL": self.valkey_url,
            "JITTERSCOPE_SECRET_KEY": self._secrets.secret_key,
            "JITTERSCOPE_PUBLIC_URL": self.url,
            "JITTERSCOPE_STATE_DIR": str(self.state.path),
            "JITTERSCOPE_API_LANE": "front",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            # Each thread would keep the memory of its largest request.
            "MALLOC_ARENA_MAX": "2",
            **self._extra,
        }

    def _set_up(self) -> None:
        """Set up roles, schema, first organization, and collector token: all of it can be repeated."""
        bootstrap.bootstrap(
            self._postgres.url(), "jitterscope", self._secrets.owner_password, self._secrets.app_password
        )
        runner.migrate(self.owner_database_url)
        founded = founding.found_organization(
            self.owner_database_url, "My organization", ADMIN_EMAIL, self._secrets.admin_password, operator=True
        )
        self.organization_id = founded.organization_id
        if founded.created or not self.state.collector_token.exists():
            token = founding.make_token(self.owner_database_url, founded.organization_id, "ingest", "this machine")
            write_private(self.state.collector_token, token + "\n")
        write_private(
            self.state.urls,
            json.dumps(
                {
                    "url": self.url,
                    "email": ADMIN_EMAIL,
                    "password_file": str(self.state.admin_password),
                    "organization_id": founded.organization_id,
                    "database_url": self.database_url,
                    "valkey_url": self.valkey_url,
                    "collector_token_file": str(self.state.collector_token),
                    "supervisor_pid": self.supervisor.pid,
                },
                indent=1,
            )
            + "\n",
        )
        self.state.migrated.touch()

    def _read(self) -> None:
        self._ports = Ports(**json.loads((self.state.path / "ports.json").read_text()))
        self._make_servers(self._ports)
        if self.state.urls.exists():
            self.organization_id = int(json.loads(self.state.urls.read_text())["organization_id"])

    def _wait_ready(self, timeout_s: float = 180.0) -> None:
        deadline = time.monotonic() + timeout_s
        said = "no answer"
        with httpx.Client(timeout=5) as client:  # a new one for each attempt would read the system's certificates anew
            while time.monotonic() < deadline:
                try:
                    response = client.get(f"{self.url}/readyz")
                    if response.status_code == 200:
                        self.state.serving.touch()
                        return
                    said = response.text
                except httpx.HTTPError as error:
                    said = str(error)
                time.sleep(0.1)
        tail = self.log("api").read_text(errors="replace")[-2000:] if self.log("api").exists() else ""
        raise StartFailed(f"{self.url}/readyz did not become ready in {timeout_s:.0f} s: {said}\n{tail}")
