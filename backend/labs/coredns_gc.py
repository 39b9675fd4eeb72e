"""The coredns-gc lab: starts a real CoreDNS in a limited cgroup, sends queries, and measures what happens."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from jitterscope.analyses.load_file import LoadResult
from labs import load, processes
from labs.cgroups import Hierarchies, LabCgroup, LabRun, remove_stale
from labs.console import Say
from labs.coredns import WIDE_NAMES, CoreDns
from labs.errors import LabError
from labs.figures import TICK_US, Figures, first_throttled_query_us, measured
from labs.load import Load
from labs.pace import check_pace, tick_after
from labs.variants import Parameters, Variant, settle

_SETTLE_S = 2.0  # queries before the measured window, so that nothing in it is a first time
_LEAD_S = 1.5  # for the driver to start
_BURNER = Path(__file__).with_name("burner.py")


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, by the lab's own account, in [from_us, to_us)."""

    parameters: Parameters
    from_us: int
    to_us: int
    figures: Figures
    first_throttled_query_us: int | None
    load: LoadResult
    others_cpus: float  # what everything else on this machine used meanwhile, clients and product included


@dataclass(frozen=True, slots=True)
class Bench:
    """The running server, before its load."""

    server: CoreDns
    cgroup: LabCgroup
    clients: LabCgroup
    folder: Path
    variant: Variant
    parameters: Parameters

    @property
    def server_key(self) -> str:
        """How the product names the DNS server."""
        return self.server.key


@contextmanager
def bench(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """CoreDNS, loaded and without a limit yet, in a cgroup of its own; all of it is gone afterwards."""
    hierarchies = Hierarchies.of_this_machine()
    for name in remove_stale(hierarchies):
        say(f"Removed the cgroup {name} of a killed lab")
    cgroup, clients = LabRun(hierarchies).cgroup("coredns"), LabCgroup(hierarchies, "clients")
    with ExitStack() as stack:
        stack.callback(cgroup.remove)
        cgroup.create()
        clients.create()
        say(f"Starting CoreDNS with {parameters.records:,} names in {cgroup.key}")
        server = CoreDns(folder, cgroup, parameters.records, parameters.rewrites, environment_of(parameters))
        server.start(WIDE_NAMES[0])
        stack.callback(server.stop)
        stack.callback(_unlimit, cgroup)
        yield Bench(server, cgroup, clients, folder, variant, parameters)


def run(made: Bench, say: Say) -> Run:
    """Set the limit, send the load, measure. Raises LabError where the server dies or the driver cannot keep up."""
    parameters = _calibrate(made, say)
    _limit(made, parameters, say)
    with _burner(made, parameters):
        from_us = tick_after(time.time() + _LEAD_S + _SETTLE_S)
        to_us = from_us + round(parameters.seconds * 1e6 / TICK_US) * TICK_US
        before, began = _busy_s(), time.monotonic()
        result = _drive(made, _load_of(parameters), from_us - int(_SETTLE_S * 1e6), to_us)
        busy_cpus = (_busy_s() - before) / (time.monotonic() - began)
    if not made.server.is_running():
        raise LabError("CoreDNS exited during the run.")
    check_pace(result, say)
    figures = measured(result, made.server.gc_cycles, from_us, to_us, parameters.period_us)
    others_cpus = max(0.0, busy_cpus - (figures.cpu_mean or 0.0))
    return Run(parameters, from_us, to_us, figures, first_throttled_query_us(result), result, others_cpus)


def _busy_s() -> float:
    """CPU time that the whole machine has used since it started."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


@dataclass(frozen=True, slots=True)
class Loaded:
    """A load without an end of its own. `goes_on` raises LabError where the server or the driver died."""

    parameters: Parameters
    goes_on: Callable[[], bool]


@contextmanager
def loaded(made: Bench, say: Say) -> Iterator[Loaded]:
    """Set the limit and send the load without measuring, for `seconds` of the parameters or until the context ends."""
    parameters = _calibrate(made, say)
    _limit(made, parameters, say)
    start_us = tick_after(time.time() + _LEAD_S)
    out, shape = made.folder / "load.bin", _load_of(parameters)
    with (
        _burner(made, parameters),
        load.start(made.server, shape, parameters.seconds, start_us, made.cgroup, made.clients, out) as driver,
    ):

        def goes_on() -> bool:
            if not made.server.is_running():
                raise LabError("CoreDNS exited under load.")
            if driver.poll():
                load.finish(driver, out)
            return driver.returncode is None

        try:
            yield Loaded(parameters, goes_on)
        finally:
            processes.stop(driver)


def _limit(made: Bench, parameters: Parameters, say: Say) -> None:
    quota_us = -1 if parameters.quota_us is None else parameters.quota_us
    made.cgroup.limit_cpu(quota_us, parameters.period_us, parameters.burst_us)
    limit = "no CPU limit" if quota_us < 0 else f"{quota_us / 1e3:g} ms of CPU per {parameters.period_us / 1e3:g} ms"
    say(f"{limit}; {parameters.qps:g} queries/s for {parameters.seconds:g} s")


def environment_of(parameters: Parameters) -> dict[str, str]:
    """What the Go runtime of the server is told."""
    environment = {"GOMAXPROCS": str(parameters.gomaxprocs), "GOGC": parameters.gogc}
    if parameters.gomemlimit is not None:
        environment["GOMEMLIMIT"] = parameters.gomemlimit
    return environment


def _load_of(parameters: Parameters) -> Load:
    return Load(parameters.qps or 0, parameters.burst_qps or 0, parameters.burst_ms, parameters.every_ms)


def _calibrate(made: Bench, say: Say) -> Parameters:
    """Fill in what the variant leaves open, from the CPU time of a query measured without a limit."""
    if made.variant not in (Variant.OVERLOAD, Variant.REQUEST_BURST):
        return made.parameters
    rate = 1_000.0
    while True:
        cost_s = _cost_of_a_query_s(made, rate)
        say(f"A query costs {cost_s * 1e6:.0f} µs of CPU here at {rate:g} queries/s")
        settled = settle(made.variant, made.parameters, cost_s)
        chosen = max(settled.qps or 0, settled.burst_qps or 0)
        # A busy server wakes up less often for the same work: what holds at one rate is too much at another.
        if chosen < 1.3 * rate:
            return settled
        rate = chosen


def _cost_of_a_query_s(made: Bench, rate: float) -> float:
    start = tick_after(time.time() + _LEAD_S)
    result = _drive(made, Load(rate), start, start + 3_000_000)
    return float(result.counters[-1, 4] - result.counters[0, 4]) / 1e6 / max(1, result.sent_us.size)


def _drive(made: Bench, shape: Load, start_us: int, end_us: int) -> LoadResult:
    out = made.folder / "load.bin"
    return load.run(made.server, shape, (end_us - start_us) / 1e6, start_us, made.cgroup, made.clients, out)


@contextmanager
def _burner(made: Bench, parameters: Parameters) -> Iterator[None]:
    """The neighbour of `periodic-burst`, in the server's cgroup."""
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


def _unlimit(cgroup: LabCgroup) -> None:
    """So that what runs in it can end quickly."""
    cgroup.limit_cpu(-1, 100_000, 0)
