"""A service and its dependency in separate cgroups, requests to the service, and the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jitterscope.diagnosis.core.severity import SLOW_US
from labs import built
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.dependency.database import TABLE, Database, Locking
from labs.dependency.variants import Parameters
from labs.figures import Figures
from labs.gctrace import parse_line
from labs.limited import Measured, Stage, Window, unlimit
from labs.load import Load
from labs.service.servers import PATH, HttpService, service
from labs.service.variants import Parameters as ServiceParameters

_PERIOD_US = 100_000


class DependencyFigures(Figures):
    """`slow_calls`: calls to the dependency that took over 20 ms; `slowest_call_ms`: the slowest one."""

    slow_calls: int | None = None
    slowest_call_ms: float | None = None


class Asking(HttpService):
    """The Go service, which reports each long call."""

    def __init__(self, command: list[str], cgroup: LabCgroup) -> None:
        super().__init__("the Go service", command, cgroup, {"GODEBUG": "gctrace=1"}, parse_line)
        self._calls: list[tuple[int, int]] = []

    def heard(self, line: str, now_us: int) -> None:
        word, *numbers = line.split()
        if word == "call" and len(numbers) == 2:
            self._calls.append((int(numbers[0]), int(numbers[1])))
        else:
            super().heard(line, now_us)

    def calls_us(self, from_us: int, to_us: int) -> list[int]:
        """Durations (µs) of the calls that ended in the window."""
        return [took for ended, took in self._calls if from_us <= ended < to_us]


@dataclass(frozen=True, slots=True)
class Bench:
    """The running service, before its load. `asked`: the dependency's cgroup; `database` None: another service."""

    stage: Stage
    server: Asking
    asked: LabCgroup
    database: Database | None
    parameters: Parameters

    @property
    def load(self) -> Load:
        return Load(self.parameters.qps, names=(PATH,), http=True)


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured
    figures: DependencyFigures


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Service and dependency; everything is removed afterwards."""
    p, names = parameters, LabRun.begin(say)
    own, asked, clients = (
        names.cgroup("shop"),
        names.cgroup("database" if p.database else "prices"),
        names.cgroup("clients"),
    )
    with ExitStack() as stack:
        for cgroup in (own, asked, clients):
            stack.callback(cgroup.remove)
            cgroup.create()
        database, options = _asked(p, folder, asked, stack, say)
        program = built.program("jitterscope-service", "JITTERSCOPE_SERVICE")
        waits = [f"--slow-every={p.own_slow_every}", f"--slow-ms={p.own_slow_ms}"]
        server = Asking([str(program), f"--connections={p.connections}", *options, *waits], own)
        say(f"Starting {server.name} in {own.key}, which asks {asked.key}")
        stack.callback(server.stop)
        server.start(PATH)
        say(f"{p.qps:g} requests/s for {p.calm_seconds:g} s, then for {p.seconds:g} s measured")
        yield Bench(Stage(server, own, clients, folder), server, asked, database, p)


def _asked(
    p: Parameters, folder: Path, cgroup: LabCgroup, stack: ExitStack, say: Say
) -> tuple[Database | None, list[str]]:
    """Start the dependency; returns the service's options for it."""
    if p.database:
        database = Database(folder / "database", cgroup)
        say(f"Starting PostgreSQL in {cgroup.key}")
        stack.callback(database.stop)
        stack.callback(unlimit, cgroup)
        database.start()
        cgroup.limit_cpu(p.limit.quota_us, p.limit.period_us, 0)
        query = f"SELECT sum(price)::text FROM (SELECT price FROM {TABLE} ORDER BY id LIMIT 20) AS chosen"  # noqa: S608
        heavy = f"SELECT count(*)::text FROM generate_series(1, {p.heavy_rows})"  # noqa: S608
        return database, [
            f"--database={database.url}?sslmode=disable", f"--query={query}", f"--heavy-query={heavy}",
            f"--heavy-every={p.heavy_every}",
        ]  # fmt: skip
    what = ServiceParameters(
        objects=p.objects, hashed_kib=p.hashed_kib, slow_every=p.slow_every, slow_ms=p.slow_ms, quota_us=p.quota_us,
        answer_bytes=p.answer_bytes,
    )  # fmt: skip
    server = service(what, folder, cgroup)
    say(f"Starting another service in {cgroup.key}: {p.limit}")
    stack.callback(server.stop)
    stack.callback(unlimit, cgroup)
    server.start(PATH)
    cgroup.limit_cpu(p.limit.quota_us, p.limit.period_us, 0)
    return None, [f"--ask=http://{server.address}:{server.port}{PATH}"]


@contextmanager
def locked(made: Bench, from_us: int) -> Iterator[None]:
    """The variant's locks, from that time until the context ends."""
    p = made.parameters
    if made.database is None:
        yield
        return
    with Locking(made.database, from_us, p.lock_ms, p.lock_every_ms):
        yield


def run(made: Bench, say: Say) -> Run:
    """Send the load and cause the variant's trouble. Raises LabError if any part of it fails."""
    p = made.parameters
    window = Window.soon(p.seconds, p.calm_seconds)
    with locked(made, window.from_us):
        done = made.stage.measure(made.load, window, _PERIOD_US, say)
    calls = [one for one in made.server.calls_us(done.from_us, done.to_us) if one > SLOW_US]
    slowest = max(calls, default=None)
    return Run(
        done,
        DependencyFigures(
            **done.figures.model_dump(),
            slow_calls=len(calls),
            slowest_call_ms=None if slowest is None else slowest / 1e3,
        ),
    )
