"""A service with one working thread, requests to it, and the measurements."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.errors import LabError
from labs.eventloop.variants import Parameters, Runtime
from labs.figures import Figures
from labs.limited import Measured, Stage, Window
from labs.load import Load
from labs.noisy.loops import CLIENT_SHARES, NEIGHBOUR_SHARES, busy, competing
from labs.noisy.waiting import RunDelay
from labs.service.servers import PATH, HttpService

_PERIOD_US = 100_000
_SOURCES = Path(__file__).parent


class EventLoopFigures(Figures):
    """`run_delay_s`: how long threads of the service were runnable but not running, summed."""

    run_delay_s: float | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """The running service, before its load; the neighbor is idle."""

    stage: Stage
    server: HttpService
    neighbour: LabCgroup
    parameters: Parameters

    @property
    def load(self) -> Load:
        return Load(self.parameters.qps, names=(PATH,), http=True)

    def move_off(self) -> None:
        """From now on, make reports outside the event loop."""
        os.kill(self.server.pid, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured
    figures: EventLoopFigures


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start the service; everything is removed afterwards."""
    p, names = parameters, LabRun.begin(say)
    with ExitStack() as stack:

        def cgroup(name: str, shares: int) -> LabCgroup:
            if p.loops:
                return competing(stack, names, name, shares)
            made = names.cgroup(name)
            stack.callback(made.remove)
            made.create()
            return made

        own, batch = cgroup(p.runtime.value, p.shares), cgroup("batch", NEIGHBOUR_SHARES)
        clients = cgroup("clients", CLIENT_SHARES)
        name = "Node.js" if p.runtime is Runtime.NODE else "Python"
        server = HttpService(name, _command(p), own, {})
        say(f"Starting {name} in {own.key}")
        stack.callback(server.stop)
        server.start(PATH)
        reports = (
            f"a report of {p.report_rows:,} rows for one of {p.report_every:,}" if p.report_every else "no reports"
        )
        say(f"{p.qps:g} requests/s, {reports}, for {p.calm_seconds:g} s, then for {p.seconds:g} s measured")
        yield Bench(Stage(server, own, clients, folder), server, batch, p)


def _command(p: Parameters) -> list[str]:
    options = [f"--report-every={p.report_every}", f"--report-rows={p.report_rows}", f"--off-loop={int(p.off_loop)}"]
    if p.runtime is Runtime.PYTHON:
        return [sys.executable, "-I", str(_SOURCES / "service.py"), *options]
    node = shutil.which("node")
    if node is None:
        raise LabError("node is missing: install Node (`make deps` does), or choose --variant fault-python.")
    return [node, str(_SOURCES / "service.js"), *options]


def run(made: Bench, say: Say) -> Run:
    """Send the load. Raises LabError if any part of it fails."""
    p = made.parameters
    window = Window.soon(p.seconds, p.calm_seconds)
    with busy(made.neighbour, p.loops, window.from_us), RunDelay(made.server.pid) as delay:
        done = made.stage.measure(made.load, window, _PERIOD_US, say)
    waited_s = delay.waited_us(done.from_us, done.to_us) / 1e6
    return Run(done, EventLoopFigures(**done.figures.model_dump(), run_delay_s=waited_s))
