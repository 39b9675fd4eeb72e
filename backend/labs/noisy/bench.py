"""A server and a neighbor in separate cgroups, the load, and the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs import unbound
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.figures import Figures
from labs.limited import Limit, Measured, Stage, Window, unlimit
from labs.load import Load
from labs.noisy.loops import CLIENT_SHARES, busy, competing
from labs.noisy.variants import Parameters
from labs.noisy.waiting import RunDelay
from labs.servers import Server, free_port
from labs.service import servers as services
from labs.service.variants import Parameters as ServiceParameters

_ZONE = "lab.test"
_NAMES = tuple(f"{name}.{_ZONE}" for name in ("api", "pay", "mail", "cdn"))
_PERIOD_US = 100_000  # of the server's own limit


class NoisyFigures(Figures):
    """`run_delay_s`: how long threads of the server were runnable but not running, summed."""

    run_delay_s: float | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """The running server, before its load; the neighbor is idle."""

    stage: Stage
    neighbour: LabCgroup
    load: Load
    parameters: Parameters


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured
    figures: NoisyFigures


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start the server with its weight; everything is removed afterwards."""
    p, names = parameters, LabRun.begin(say)
    with ExitStack() as stack:
        own = competing(stack, names, "go" if p.http else "unbound", p.shares)
        batch = competing(stack, names, "batch", p.neighbour_shares)
        clients = competing(stack, names, "clients", CLIENT_SHARES)
        server, load, ready = _http(p, folder, own) if p.http else _dns(p, folder, own)
        say(f"Starting {server.name} in {own.key} with {p.shares} shares beside {batch.key} with {p.neighbour_shares}")
        server.start(ready)
        stack.callback(server.stop)
        stack.callback(unlimit, own)
        made = Stage(server, own, clients, folder)
        if p.quota_us is None:
            p = p.model_copy(update={"quota_us": made.too_low_us(load, _PERIOD_US, say)})
        limit = Limit(-1 if p.quota_us is None else p.quota_us, _PERIOD_US, 0)
        made.limit(limit)
        batch.limit_cpu(p.neighbour_quota_us, p.neighbour_period_us, 0)
        say(f"{limit}; {p.qps:g}/s for {p.calm_seconds:g} s, then {p.loops} busy loops beside it for {p.seconds:g} s")
        yield Bench(made, batch, load, p)


def _dns(p: Parameters, folder: Path, cgroup: LabCgroup) -> tuple[Server, Load, str]:
    server = unbound.server("unbound", ("127.0.0.1", free_port()), folder, cgroup, (_ZONE,))
    return server, Load(p.qps, names=_NAMES), _ZONE


def _http(p: Parameters, folder: Path, cgroup: LabCgroup) -> tuple[Server, Load, str]:
    server = services.service(ServiceParameters(objects=0, hashed_kib=p.hashed_kib, gomaxprocs=2), folder, cgroup)
    return server, Load(p.qps, names=(services.PATH,), http=True), services.PATH


def run(made: Bench, say: Say) -> Run:
    """Send the load, and let the neighbor run once the window begins. Raises LabError if any part of it fails."""
    p = made.parameters
    window = Window.soon(p.seconds, p.calm_seconds)
    with busy(made.neighbour, p.loops, window.from_us), RunDelay(made.stage.server.pid) as delay:
        done = made.stage.measure(made.load, window, _PERIOD_US, say)
    waited_s = delay.waited_us(done.from_us, done.to_us) / 1e6
    return Run(done, NoisyFigures(**done.figures.model_dump(), run_delay_s=waited_s))
