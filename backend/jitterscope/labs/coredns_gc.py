"""The coredns-gc lab: starts a real CoreDNS in a limited cgroup, sends queries, and measures what happens."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jitterscope.labs import load, processes
from jitterscope.labs.cgroups import Hierarchies, LabCgroup, remove_stale
from jitterscope.labs.coredns import CoreDns
from jitterscope.labs.errors import LabError
from jitterscope.labs.figures import TICK_US, Figures, first_throttled_query_us, measured
from jitterscope.labs.load import Load, LoadResult
from jitterscope.labs.variants import Parameters, Variant, settle

Say = Callable[[str], None]
_SETTLE_S = 2.0  # queries before the measured window, so that nothing in it is a first time
_LEAD_S = 1.5  # for the driver to start
_runs = itertools.count(1)
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
        return f"{self.server.address}:{self.server.port}"


@contextmanager
def bench(variant: Variant, parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """CoreDNS, loaded and without a limit yet, in a cgroup of its own; all of it is gone afterwards."""
    hierarchies = Hierarchies.of_this_machine()
    for name in remove_stale(hierarchies):
        say(f"Removed the cgroup {name} of a lab that was killed")
    # A name of its own for each run of this process: to the product, each is another workload.
    cgroup, clients = LabCgroup(hierarchies, f"coredns-{next(_runs)}"), LabCgroup(hierarchies, "clients")
    with ExitStack() as stack:
        stack.callback(cgroup.remove)
        cgroup.create()
        clients.create()
        say(f"Starting CoreDNS with {parameters.records:,} names in {cgroup.key}")
        server = CoreDns(folder, cgroup, parameters.records, parameters.rewrites, _environment(parameters))
        server.start()
        stack.callback(server.stop)
        stack.callback(_unlimit, cgroup)
        yield Bench(server, cgroup, clients, folder, variant, parameters)


def run(made: Bench, say: Say) -> Run:
    """Set the limit, send the load, measure. Raises LabError where the server dies or the driver cannot keep up."""
    parameters = _calibrate(made, say)
    quota_us = -1 if parameters.quota_us is None else parameters.quota_us
    made.cgroup.limit_cpu(quota_us, parameters.period_us, parameters.burst_us)
    limit = "no CPU limit" if quota_us < 0 else f"{quota_us / 1e3:g} ms of CPU per {parameters.period_us / 1e3:g} ms"
    say(f"{limit}; {parameters.qps:g} queries/s for {parameters.seconds:g} s")
    with _burner(made, parameters):
        from_us = _tick_after(time.time() + _LEAD_S + _SETTLE_S)
        to_us = from_us + round(parameters.seconds * 1e6 / TICK_US) * TICK_US
        result = _drive(made, _load_of(parameters), from_us - int(_SETTLE_S * 1e6), to_us)
    if not made.server.is_running():
        raise LabError("CoreDNS ended during the run.")
    _check_pace(result, say)
    figures = measured(result, made.server.gc_cycles, from_us, to_us)
    return Run(parameters, from_us, to_us, figures, first_throttled_query_us(result), result)


def _environment(parameters: Parameters) -> dict[str, str]:
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
    start = _tick_after(time.time() + _LEAD_S)
    result = _drive(made, Load(rate), start, start + 3_000_000)
    return float(result.counters[-1, 4] - result.counters[0, 4]) / 1e6 / max(1, result.sent_us.size)


def _drive(made: Bench, shape: Load, start_us: int, end_us: int) -> LoadResult:
    out = made.folder / "load.bin"
    driver = load.start(made.server, shape, (end_us - start_us) / 1e6, start_us, made.cgroup, made.clients, out)
    try:
        return load.finish(driver, out)
    finally:
        processes.stop(driver)


def _check_pace(result: LoadResult, say: Say) -> None:
    """Latency counts from when a query really left, so a driver that is held up changes the load, not the latency."""
    late_ms = result.summary["send_delay_p99_us"] / 1e3
    if late_ms > 1_000 or result.summary["not_sent"]:
        raise LabError(
            f"The load driver could not keep its pace (1 % of queries left {late_ms:.0f} ms late or more): "
            "this machine is too busy for a measurement; lower --qps or free a CPU."
        )
    if late_ms > 20:
        say(f"This machine is busy: 1 % of queries left {late_ms:.0f} ms late or more")


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


def _tick_after(when_s: float) -> int:
    return (int(when_s * 1e6) // TICK_US + 1) * TICK_US
