"""A service, clients behind a link that loses packets, and the measurements."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.query_results import TIMEOUT
from labs import load, packages, processes
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.limited import Measured, Stage, Window
from labs.load import Load
from labs.loss.variants import Parameters
from labs.wire.figures import LATE_MS, Counters, WireFigures
from labs.wire.namespaces import Namespace, Wire, wire
from labs.wire.service import PATH, WiredService

_PORT, _OTHER_PORT = 8080, 9090
_PERIOD_US = 100_000
_TIMEOUT_MS = 20_000
_TABLE = "jitterscope_lab"


@dataclass(frozen=True, slots=True)
class Other:
    """A second service at the same address, with its own clients."""

    server: WiredService
    clients: LabCgroup


@dataclass(frozen=True, slots=True)
class Bench:
    """The running service, before its load."""

    stage: Stage
    server: WiredService
    wire: Wire
    parameters: Parameters
    other: Other | None

    @property
    def load(self) -> Load:
        return _load(self.parameters, self.wire)

    def repair(self) -> None:
        """From now on, drop nothing."""
        for end in (self.wire.clients, self.wire.server):
            _nft(end, self.stage.folder, f"table inet {_TABLE}\ndelete table inet {_TABLE}\n")


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured
    figures: WireFigures
    first_waited_us: int | None


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start the service and the packet loss; everything is removed afterwards."""
    p, names = parameters, LabRun.begin(say)
    with ExitStack() as stack:

        def cgroup(name: str) -> LabCgroup:
            made = names.cgroup(name)
            stack.callback(made.remove)
            made.create()
            return made

        def running(server: WiredService) -> WiredService:
            server.start(PATH)
            stack.callback(server.stop)
            return server

        own, clients = cgroup("service"), cgroup("clients")
        link = stack.enter_context(wire(clients, 0))
        say(f"Starting a service in {own.key}")
        server = running(WiredService("the service", link.server, _PORT, own, _options(p)))
        other = None
        if p.other:
            say("Starting another service at the same address")
            beside = WiredService("the other service", link.server, _OTHER_PORT, cgroup("other"), _options(p))
            other = Other(running(beside), cgroup("other-clients"))
        port = _OTHER_PORT if p.other else _PORT
        if p.loss_percent:
            say(f"{p.loss_percent:g} % of the packets from port {port} to its clients are lost")
            _lose(link.clients, folder, f"sport {port}", p.loss_percent)
            if p.requests_too:
                _lose(link.server, folder, f"dport {port}", p.loss_percent)
        say(f"{p.qps:g} requests/s for {p.seconds:g} s")
        yield Bench(Stage(server, own, clients, folder), server, link, p, other)


def _options(p: Parameters) -> list[str]:
    return [f"--{name.replace('_', '-')}={getattr(p, name)}" for name in ("answer_bytes", "slow_every", "slow_ms")]


def _load(p: Parameters, link: Wire) -> Load:
    return Load(
        p.qps, names=(PATH,), http=True, timeout_ms=_TIMEOUT_MS, reuse=p.keep, ready=8 if p.keep else 0, whole=True,
        inside=link.clients.enter,
    )  # fmt: skip


def _lose(where: Namespace, folder: Path, what: str, percent: float) -> None:
    """Drop packets on arrival, at random: if they were dropped where they leave, the sender would know at once."""
    rule = f"tcp {what} numgen random mod 10000 < {round(percent * 100)} drop"
    hook = "type filter hook input priority 0;"
    _nft(where, folder, f"table inet {_TABLE} {{\n    chain arriving {{\n        {hook}\n        {rule}\n    }}\n}}\n")


def _nft(where: Namespace, folder: Path, text: str) -> None:
    unpacked = packages.unpacked("nftables")
    rules = folder / "loss.nft"
    rules.write_text(text)
    program = str(unpacked / "usr" / "sbin" / "nft")
    packages.run([*where.enter, program, "-f", str(rules)], environment=packages.environment(unpacked))


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if a service dies or the driver cannot keep up."""
    p = made.parameters
    window = Window.soon(p.seconds, p.calm_seconds)
    with Counters(made.wire.server) as counters, _beside(made, window):
        done = made.stage.measure(made.load, window, _PERIOD_US, say)
        time.sleep(0.1)
    counted = counters.between(done.from_us, done.to_us)
    result = done.load
    own_ms = p.slow_ms if p.slow_every else 0
    ended = result.sent_us + result.latency_us
    inside = (ended >= done.from_us) & (ended < done.to_us)
    late = (result.latency_us > 1000 * (LATE_MS + own_ms)) | (result.result == TIMEOUT)
    waited = inside & late
    sent = int(((result.sent_us >= done.from_us) & (result.sent_us < done.to_us)).sum())
    figures = WireFigures(
        **done.figures.model_dump(),
        opened=None if made.other else counted.opened,  # the kernel counts those of both
        # A retransmitted SYN counts at the socket, which the product reads, and not in ListenDrops.
        dropped=counted.dropped if p.keep else None,
        resent=None if made.other or not p.keep else counted.resent,  # the kernel also counts SYN-ACKs
        waited_share=float(waited.sum()) / sent if sent else None,
    )
    # It began with the load, before the window.
    return Run(done, figures, int(np.min(result.sent_us[late])) if late.any() else None)


@contextmanager
def _beside(made: Bench, window: Window) -> Iterator[None]:
    """The same load on the other service, if there is one."""
    if made.other is None:
        with nullcontext():
            yield
        return
    out, seconds = made.stage.folder / "other.bin", (window.to_us - window.start_us) / 1e6
    other = made.other
    with load.start(
        other.server, made.load, seconds, window.start_us, other.server.cgroup, other.clients, out
    ) as driver:
        try:
            yield
        finally:
            processes.stop(driver)
