"""Real services of HTTP or gRPC: a Go program, a JVM, Node, and Ruby, whose GC trace is read as they print it."""

from __future__ import annotations

import http.client
import shutil
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from labs import built, packages
from labs.cgroups import LabCgroup
from labs.errors import LabError
from labs.gctrace import GcCycle, parse_line
from labs.servers import Server, free_port
from labs.service.traces import jvm_pause, node_collection, ruby_collection
from labs.service.variants import Parameters, Runtime

PATH = "/"
METHOD = "/shop.Orders/Place"
_SOURCES = Path(__file__).parent


class HttpService(Server):
    """A service that answers GET requests on a free loopback port."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        cgroup: LabCgroup,
        environment: Mapping[str, str],
        reads_gc: Callable[[str, int], GcCycle | None] | None = None,
    ) -> None:
        endpoint = ("127.0.0.1", free_port())
        listen = f"--listen=127.0.0.1:{endpoint[1]}"
        super().__init__(name, endpoint, [*command, listen], cgroup, environment, reads_gc=reads_gc)

    def answers(self, probe: str) -> bool:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=5)
        try:
            connection.request("GET", probe)
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            time.sleep(0.1)
            return False
        finally:
            connection.close()

    @property
    def key(self) -> str:
        return f"{self.cgroup.key}:{self.port}"


class GrpcService(HttpService):
    """A service that answers gRPC calls of `METHOD`."""

    def answers(self, probe: str) -> bool:
        """Whether it listens: it begins to when it can answer."""
        try:
            socket.create_connection((self.address, self.port), timeout=5).close()
        except OSError:
            time.sleep(0.1)
            return False
        return True


def service(parameters: Parameters, folder: Path, cgroup: LabCgroup) -> HttpService:
    """The service, not started yet. Raises LabError if its runtime is missing here."""
    make = {Runtime.GO: _go, Runtime.JVM: _jvm, Runtime.NODE: _node, Runtime.RUBY: _ruby}[parameters.runtime]
    return make(parameters, folder, cgroup)


def go_environment(p: Parameters) -> dict[str, str]:
    """Settings of the Go runtime."""
    environment = {"GODEBUG": "gctrace=1", "GOMAXPROCS": str(p.gomaxprocs), "GOGC": p.gogc}
    return environment if p.gomemlimit is None else {**environment, "GOMEMLIMIT": p.gomemlimit}


def _go(p: Parameters, _folder: Path, cgroup: LabCgroup) -> HttpService:
    program = built.program("jitterscope-service", "JITTERSCOPE_SERVICE")
    if p.grpc:
        command = [str(program), "--grpc", *_options(p)]
        return GrpcService("the gRPC service in Go", command, cgroup, go_environment(p), parse_line)
    return HttpService("the Go service", [str(program), *_options(p)], cgroup, go_environment(p), parse_line)


def _jvm(p: Parameters, folder: Path, cgroup: LabCgroup) -> HttpService:
    packages.run([_installed("javac", "a JDK"), "-d", str(folder), str(_SOURCES / "Service.java")])
    command = [
        _installed("java", "a JDK"),
        f"-XX:ActiveProcessorCount={p.cpus}",
        f"-XX:+Use{p.collector}GC",
        f"-Xmx{p.heap_mib}m",
        "-Xlog:gc:stdout",
        "-Dsun.net.httpserver.nodelay=true",  # otherwise an answer in two parts waits 40 ms for an ACK
        "-cp",
        str(folder),
        "Service",
    ]
    return HttpService("the JVM", [*command, *_options(p)], cgroup, {}, jvm_pause)


def _node(p: Parameters, _folder: Path, cgroup: LabCgroup) -> HttpService:
    # Its trace goes through the C library's buffer, and would arrive minutes late.
    node = ["stdbuf", "-oL", _installed("node", "Node"), "--trace-gc", f"--max-old-space-size={p.heap_mib}"]
    return HttpService("Node", [*node, str(_SOURCES / "service.js"), *_options(p)], cgroup, {}, node_collection)


def _ruby(p: Parameters, _folder: Path, cgroup: LabCgroup) -> HttpService:
    command = [_installed("ruby", "Ruby"), str(_SOURCES / "service.rb"), *_options(p)]
    return HttpService("Ruby", command, cgroup, {}, ruby_collection)


def _options(p: Parameters) -> list[str]:
    names = ("objects", "replaced", "answer_bytes", "hashed_kib", "slow_every", "slow_ms")
    return [f"--{name.replace('_', '-')}={getattr(p, name)}" for name in names]


def _installed(program: str, what: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise LabError(f"{program} is missing: install {what} (`make deps` does), or choose another --variant.")
    return found
