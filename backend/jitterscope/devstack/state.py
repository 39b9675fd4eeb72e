"""The contents of a stack's folder: ports and secrets, created once, and the paths of everything."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from jitterscope.devstack.ports import free_port, is_free
from jitterscope.kit.secretbox import new_key

ADMIN_EMAIL = "admin@localhost"
_MAX_SOCKET_PATH = 100  # sun_path holds 108 bytes; supervisord appends a suffix while it starts


@dataclass(slots=True)
class Ports:
    api: int
    postgres: int
    valkey: int


@dataclass(frozen=True, slots=True)
class Secrets:
    postgres_password: str
    owner_password: str
    app_password: str
    valkey_password: str
    secret_key: str
    admin_password: str


class StateFolder:
    """Paths below the state folder. Everything in it is readable by its owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def prepare(self) -> None:
        for folder in (self.path, self.logs, self.postgres, self.valkey, self.spool):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def valkey(self) -> Path:
        return self.path / "valkey"

    @property
    def spool(self) -> Path:
        return self.path / "spool"

    @property
    def supervisor_configuration(self) -> Path:
        return self.path / "supervisord.conf"

    @property
    def supervisor_pid(self) -> Path:
        return self.path / "supervisord.pid"

    @property
    def collector_token(self) -> Path:
        return self.path / "collector.token"

    @property
    def admin_password(self) -> Path:
        return self.path / "admin-password"

    @property
    def urls(self) -> Path:
        return self.path / "urls.json"

    @property
    def migrated(self) -> Path:
        """Exists once the schema is up to date: the API waits for it."""
        return self.path / "migrated"

    @property
    def serving(self) -> Path:
        """Exists once the API has answered: worker, beat, and collector wait for it when they first start."""
        return self.path / "serving"

    @property
    def supervisor_socket(self) -> Path:
        """In the state folder, or in a separate folder below /tmp if that path is too long for a socket."""
        inside = self.path / "supervisor.sock"
        if len(str(inside)) <= _MAX_SOCKET_PATH:
            return inside
        name = hashlib.sha256(str(self.path).encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"jitterscope-{os.geteuid()}-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / "supervisor.sock"

    def load_secrets(self) -> Secrets:
        """The stack's secrets, created at first use."""
        file = self.path / "secrets.json"
        if not file.exists():
            made = Secrets(
                postgres_password=secrets.token_urlsafe(24),
                owner_password=secrets.token_urlsafe(24),
                app_password=secrets.token_urlsafe(24),
                valkey_password=secrets.token_urlsafe(24),
                secret_key=new_key(),
                admin_password=secrets.token_urlsafe(12),
            )
            write_private(file, json.dumps(asdict(made), indent=1))
            write_private(self.admin_password, made.admin_password + "\n")
        return Secrets(**json.loads(file.read_text()))

    def choose_ports(self, api: int) -> Ports:
        """The previous ports if they are still free, otherwise others. `api` 0: any."""
        file = self.path / "ports.json"
        known = json.loads(file.read_text()) if file.exists() else {}
        ports = Ports(**{field.name: int(known.get(field.name, 0)) for field in fields(Ports)})
        for field in fields(Ports):
            if not getattr(ports, field.name) or not is_free(getattr(ports, field.name)):
                setattr(ports, field.name, free_port())
        if api:
            ports.api = api
        write_private(file, json.dumps(asdict(ports)))
        return ports


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read, atomically."""
    partial = file.with_name(file.name + ".partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as output:
        output.write(text)
    partial.replace(file)
