"""The labs' Go service in its own network namespace."""

from __future__ import annotations

import time
from collections.abc import Sequence

from labs import built
from labs.cgroups import LabCgroup
from labs.servers import Server
from labs.wire.namespaces import SERVER, Namespace

PATH = "/"


class WiredService(Server):
    """A service that answers GET requests, with hardly any garbage collection."""

    def __init__(self, name: str, inside: Namespace, port: int, cgroup: LabCgroup, options: Sequence[str]) -> None:
        self._inside = inside
        program = str(built.program("jitterscope-service", "JITTERSCOPE_SERVICE"))
        command = [*inside.enter, program, f"--listen={SERVER}:{port}", *options]
        super().__init__(name, (SERVER, port), command, cgroup, {"GOGC": "off", "GOMEMLIMIT": "256MiB"})

    def answers(self, probe: str) -> bool:
        """Whether it listens: the lab itself cannot reach it."""
        if self._inside.listens(self.port):
            return True
        time.sleep(0.05)
        return False

    @property
    def key(self) -> str:
        return f"{self.cgroup.key}:{self.port}"
