"""The coredns-gc lab: starts a real CoreDNS in a limited cgroup, sends queries, and measures what happens."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs import processes
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.coredns import WIDE_NAMES, CoreDns
from labs.limited import Limit, Measured, Stage, Window, unlimit
from labs.load import Load
from labs.variants import Parameters, Variant, settle

_BURNER = Path(__file__).with_name("burner.py")


@dataclass(frozen=True, slots=True)
class Run:
    """What happened under these parameters, as measured by the lab itself."""

    parameters: Parameters
    measured: Measured


@dataclass(frozen=True, slots=True)
class Bench:
    """The running server, before its load."""

    stage: Stage
    server: CoreDns
    variant: Variant
    parameters: Parameters

    @property
    def cgroup(self) -> LabCgroup:
        return self.stage.cgroup

    @property
    def server_key(self) -> str:
        """The product's key for the DNS server."""
        return self.server.key


@contextmanager
def bench(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """CoreDNS, loaded and not limited yet, in its own cgroup; everything is removed afterwards."""
    names = LabRun.begin(say)
    cgroup, clients = names.cgroup("coredns"), names.cgroup("clients")
    with ExitStack() as stack:
        stack.callback(cgroup.remove)
        cgroup.create()
        clients.create()
        say(f"Starting CoreDNS with {parameters.records:,} names in {cgroup.key}")
        server = CoreDns(folder, cgroup, parameters.records, parameters.rewrites, environment_of(parameters))
        server.start(WIDE_NAMES[0])
        stack.callback(server.stop)
        stack.callback(unlimit, cgroup)
        yield Bench(Stage(server, cgroup, clients, folder), server, variant, parameters)


def run(made: Bench, say: Say) -> Run:
    """Set the limit, send the load, and measure. Raises LabError if the server dies or the driver cannot keep up."""
    parameters = _calibrate(made, say)
    _limit(made, parameters, say)
    with _burner(made, parameters):
        done = made.stage.measure(_load_of(parameters), Window.soon(parameters.seconds), parameters.period_us, say)
    return Run(parameters, done)


@dataclass(frozen=True, slots=True)
class Loaded:
    """An open-ended load. `goes_on` raises LabError if the server or the driver died."""

    parameters: Parameters
    goes_on: Callable[[], bool]


@contextmanager
def loaded(made: Bench, say: Say) -> Iterator[Loaded]:
    """Set the limit and send the load without measuring, for the parameters' `seconds` or until the context ends."""
    parameters = _calibrate(made, say)
    _limit(made, parameters, say)
    with (
        _burner(made, parameters),
        made.stage.loaded(_load_of(parameters), Window.soon(parameters.seconds, 0)) as goes_on,
    ):
        yield Loaded(parameters, goes_on)


def _limit(made: Bench, parameters: Parameters, say: Say) -> None:
    quota_us = -1 if parameters.quota_us is None else parameters.quota_us
    limit = Limit(quota_us, parameters.period_us, parameters.burst_us)
    made.stage.limit(limit)
    say(f"{limit}; {parameters.qps:g} queries/s for {parameters.seconds:g} s")


def environment_of(parameters: Parameters) -> dict[str, str]:
    """The server's Go runtime settings."""
    environment = {"GOMAXPROCS": str(parameters.gomaxprocs), "GOGC": parameters.gogc}
    if parameters.gomemlimit is not None:
        environment["GOMEMLIMIT"] = parameters.gomemlimit
    return environment


def _load_of(parameters: Parameters) -> Load:
    return Load(parameters.qps or 0, parameters.burst_qps or 0, parameters.burst_ms, parameters.every_ms)


def _calibrate(made: Bench, say: Say) -> Parameters:
    """Fill in what the variant leaves open, from the CPU time per query measured without a limit."""
    if made.variant not in (Variant.OVERLOAD, Variant.REQUEST_BURST):
        return made.parameters
    rate = 1_000.0
    while True:
        cost_s = made.stage.cost_s(Load(rate))
        say(f"A query costs {cost_s * 1e6:.0f} µs of CPU here at {rate:g} queries/s")
        settled = settle(made.variant, made.parameters, cost_s)
        chosen = max(settled.qps or 0, settled.burst_qps or 0)
        # A busy server wakes up less often for the same work, so what suits one rate is too much at another.
        if chosen < 1.3 * rate:
            return settled
        rate = chosen


@contextmanager
def _burner(made: Bench, parameters: Parameters) -> Iterator[None]:
    """The other process of `periodic-burst`, in the server's cgroup."""
    if not parameters.burn_ms:
        yield
        return
    workers = int((parameters.quota_us or 0) / parameters.period_us) + 1
    command = [sys.executable, "-I", str(_BURNER), str(parameters.burn_every_ms), str(parameters.burn_ms), str(workers)]
    burner: subprocess.Popen[bytes] = processes.spawn(command, cgroup_procs=made.cgroup.procs_files())
    try:
        yield
    finally:
        burner.kill()
        burner.wait()
