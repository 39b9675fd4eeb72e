"""A service in a limited cgroup, requests to it, and the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from labs.cgroups import LabRun
from labs.console import Say
from labs.figures import Figures
from labs.limited import Measured, Stage, Window, unlimit
from labs.load import Load
from labs.service.servers import METHOD, PATH, HttpService, service
from labs.service.variants import Parameters, Runtime

# A JVM compiles what runs often: after this many requests, it is done.
_WARM_QPS, _WARM_S = 2_000.0, 8.0


@dataclass(frozen=True, slots=True)
class Bench:
    """The service, before its load. `parameters` are complete."""

    stage: Stage
    server: HttpService
    parameters: Parameters

    @property
    def load(self) -> Load:
        return _load(self.parameters)


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured

    @property
    def figures(self) -> Figures:
        return self.measured.figures


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """The service under its limit, in its own cgroup; everything is removed afterwards."""
    names, p = LabRun.begin(say), parameters
    cgroup, clients = names.cgroup(p.runtime.value), names.cgroup("clients")
    with ExitStack() as stack:
        stack.callback(cgroup.remove)
        cgroup.create()
        clients.create()
        server = service(p, folder, cgroup)
        say(f"Starting {server.name} with {p.objects:,} live objects in {cgroup.key}")
        made = Stage(server, cgroup, clients, folder)
        if not p.settle_s:
            made.limit(p.limit)  # of its start too
        stack.callback(server.stop)
        stack.callback(unlimit, cgroup)
        server.start(PATH)
        if p.runtime is Runtime.JVM and p.settle_s:
            say(f"Warming up: {_WARM_QPS:g} requests/s for {_WARM_S:g} s without a limit")
            made.warm_up(replace(_load(p), qps=_WARM_QPS), _WARM_S)
        if p.quota_us is None:
            p = p.model_copy(update={"quota_us": made.too_low_us(_load(p), p.period_us, say)})
        made.limit(p.limit)
        say(f"{p.limit}; {p.qps:g} requests/s for {p.seconds:g} s")
        yield Bench(made, server, p)


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if the service dies or the driver cannot keep up."""
    p = made.parameters
    return Run(made.stage.measure(made.load, Window.soon(p.seconds, p.settle_s), p.period_us, say))


def _load(p: Parameters) -> Load:
    if p.grpc:
        return Load(p.qps, names=(METHOD,), grpc=p.grpc)
    return Load(p.qps, names=(PATH,), http=True)
