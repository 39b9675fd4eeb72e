"""Twelve servers, each in its own cgroup, like containers on a node; nine of them have the lab's clients."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labs import built, coredns, dnsmasq, eventloop, unbound
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.dependency.database import TABLE, Database
from labs.errors import LabError
from labs.limited import unlimit
from labs.mixed import servers
from labs.mixed.parameters import Parameters
from labs.servers import Server, free_port
from labs.service.servers import PATH, HttpService, service
from labs.service.variants import Parameters as ServiceParameters
from labs.service.variants import Runtime

_PERIOD_US = 100_000
# As in typical manifests: most containers without a CPU limit, others with one or two CPUs.
_CPU_LIMITS_US = (-1, -1, 100_000, 200_000)
_MEMORY_BYTES = 1 << 30
_ZONE = "lab.test"
_NAMES = tuple(f"service-{number}.{_ZONE}" for number in range(40))


@dataclass(frozen=True, slots=True)
class Asked:
    """What clients request from a server, and how often per second at a rate of 1."""

    names: tuple[str, ...]
    qps: float
    http: bool


@dataclass(frozen=True, slots=True)
class Member:
    """One container. `asked` None: its clients are other servers of the fleet."""

    name: str
    cgroup: LabCgroup
    cpu_limit_us: int
    server: Server | Database
    asked: Asked | None


@contextmanager
def fleet(parameters: Parameters, folder: Path, say: Say) -> Iterator[tuple[list[Member], LabCgroup]]:
    """The running fleet, and the cgroup of its clients; everything is removed afterwards."""
    names, draw = LabRun.begin(say), np.random.default_rng(parameters.seed)
    members: list[Member] = []
    with ExitStack() as stack:
        clients = names.cgroup("clients")
        stack.callback(clients.remove)  # and of all others beside it
        clients.create()

        def add(name: str, make: Callable[[LabCgroup], Server], probe: str, asked: Asked | None = None) -> Server:
            cgroup, limit_us = contained(name)
            server = make(cgroup)
            server.start(probe)
            stack.callback(server.stop)
            stack.callback(unlimit, cgroup)
            members.append(Member(name, cgroup, limit_us, server, asked))
            return server

        def contained(name: str) -> tuple[LabCgroup, int]:
            cgroup, limit_us = names.cgroup(name), int(draw.choice(_CPU_LIMITS_US))
            cgroup.create()
            cgroup.limit_memory(_MEMORY_BYTES)
            cgroup.limit_cpu(limit_us, _PERIOD_US, 0)
            say(f"Starting {name}, {'no CPU limit' if limit_us < 0 else f'limit {limit_us / _PERIOD_US:g} CPU'}")
            return cgroup, limit_us

        cgroup, limit_us = contained("postgresql")
        database = Database(folder / "postgresql", cgroup)
        stack.callback(database.stop)
        stack.callback(unlimit, cgroup)
        database.start()
        members.append(Member("postgresql", cgroup, limit_us, database, None))
        add("go", lambda own: _catalogue(database, own), PATH, _http(60))
        add("jvm", lambda own: service(_usual(Runtime.JVM), _made(folder, "jvm"), own), PATH, _http(50))
        node = add("node", lambda own: service(_usual(Runtime.NODE), folder, own), PATH, _http(50))
        add("nginx", lambda own: servers.Nginx(folder / "nginx", own, node), servers.PAGE,
            Asked((servers.PAGE, servers.PAGE, servers.PROXIED), 80, http=True))  # fmt: skip
        add("asyncio", _asyncio, PATH, _http(40))
        valkey = add("valkey", lambda own: servers.valkey(folder / "valkey", own), "")
        mariadb = add("mariadb", lambda own: servers.mariadb(folder / "mariadb", own), "")
        add("shop", lambda own: _shop(valkey, mariadb, own), PATH, _http(30))
        zone = add("coredns", lambda own: _coredns(folder, own), _NAMES[0], Asked(_NAMES, 150, http=False))
        add("unbound", lambda own: unbound.server("unbound", _endpoint(), folder, own, (_ZONE,)), _ZONE,
            Asked(_NAMES, 150, http=False))  # fmt: skip
        add("dnsmasq", lambda own: dnsmasq.server("dnsmasq", _endpoint(), folder, own, (zone.address, zone.port)),
            _NAMES[0], Asked(_NAMES, 100, http=False))  # fmt: skip
        yield members, clients


def is_running(member: Member) -> None:
    """Raises LabError if it is not."""
    if isinstance(member.server, Server) and not member.server.is_running():
        raise LabError(f"{member.name} exited under load:\n{member.server.said()}")


def _endpoint() -> tuple[str, int]:
    return "127.0.0.1", free_port()


def _made(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def _http(qps: float) -> Asked:
    return Asked((PATH,), qps, http=True)


def _usual(runtime: Runtime) -> ServiceParameters:
    """A heap of a few MiB, and a few hundred µs of work per request."""
    return ServiceParameters(
        runtime=runtime, objects=20_000, replaced=20, answer_bytes=4_000, hashed_kib=50, collector="G1", cpus=2,
        heap_mib=256,
    )  # fmt: skip


def _catalogue(database: Database, cgroup: LabCgroup) -> HttpService:
    """A Go service that queries PostgreSQL."""
    program = built.program("jitterscope-service", "JITTERSCOPE_SERVICE")
    query = f"SELECT sum(price)::text FROM (SELECT price FROM {TABLE} ORDER BY id LIMIT 20) AS chosen"  # noqa: S608
    command = [
        str(program), f"--database={database.url}?sslmode=disable", f"--query={query}", "--objects=20000",
        "--replaced=20", "--answer-bytes=4000", "--hashed-kib=50",
    ]  # fmt: skip
    return HttpService("Go", command, cgroup, {})


def _asyncio(cgroup: LabCgroup) -> HttpService:
    """An event loop that makes a report of a few ms for one in 50 requests."""
    source = Path(eventloop.__file__).parent / "service.py"
    options = ["--report-every=50", "--report-rows=300", "--off-loop=0"]
    return HttpService("Python", [sys.executable, "-I", str(source), *options], cgroup, {})


def _shop(valkey: Server, mariadb: Server, cgroup: LabCgroup) -> HttpService:
    source = Path(__file__).parent / "shop.py"
    options = [f"--valkey={valkey.port}", f"--mariadb={mariadb.port}"]
    return HttpService("Python", [sys.executable, "-I", str(source), *options], cgroup, {})


def _coredns(folder: Path, cgroup: LabCgroup) -> Server:
    endpoint = _endpoint()
    corefile = f""".:{endpoint[1]} {{
    bind {endpoint[0]}
    errors
    cache 30
    template IN A {_ZONE} {{
        answer "{{{{ .Name }}}} 60 IN A 192.0.2.1"
    }}
}}
"""
    return coredns.configured("coredns", endpoint, folder, cgroup, corefile)
