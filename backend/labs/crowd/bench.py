"""A service with a short accept queue, clients that connect all at once, and the measurements."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.query_results import TIMEOUT
from labs import load, processes
from labs.cgroups import LabRun
from labs.console import Say
from labs.crowd.variants import Parameters
from labs.errors import LabError
from labs.limited import Measured, Stage, Window
from labs.load import Load
from labs.wire.figures import LATE_MS, Counters, WireFigures
from labs.wire.namespaces import Wire, wire
from labs.wire.service import PATH, WiredService

_PORT = 8080
_BURST_QPS = 8_000.0  # what one machine can send: all of a burst within a few ms
_PERIOD_US = 100_000
_ANSWER_BYTES = 1_000
_TIMEOUT_MS = 20_000  # clients of real services are more patient than DNS clients


@dataclass(frozen=True, slots=True)
class Bench:
    """The running service, before its load."""

    stage: Stage
    server: WiredService
    wire: Wire
    parameters: Parameters

    @property
    def load(self) -> Load:
        p = self.parameters
        ready = max(p.burst, 16) + 8 if p.keep else 0
        return Load(
            p.qps, burst_qps=_BURST_QPS if p.burst else 0.0, burst_ms=p.burst / _BURST_QPS * 1e3,
            every_ms=p.every_ms if p.burst else 0.0, names=(PATH,), http=True, timeout_ms=_TIMEOUT_MS, reuse=p.keep,
            ready=ready, inside=self.wire.clients.enter,
        )  # fmt: skip

    def listen_with(self, backlog: int) -> None:
        """Restart the service with another backlog."""
        p = self.parameters.model_copy(update={"backlog": backlog})
        self.server.restart(PATH, command=[*self.server.command[: -len(_options(p))], *_options(p)])


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured
    figures: WireFigures
    first_waited_us: int | None


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start the service; everything is removed afterwards."""
    p, names = parameters, LabRun.begin(say)
    with ExitStack() as stack:
        cgroup, clients = names.cgroup("service"), names.cgroup("clients")
        for one in (cgroup, clients):
            stack.callback(one.remove)
            one.create()
        link = stack.enter_context(wire(clients, p.delay_ms))
        # The lab sets the service's own limit, whatever this machine's limit is.
        link.server.run("sysctl", "-qw", "net.core.somaxconn=4096")
        server = WiredService("the service", link.server, _PORT, cgroup, _options(p))
        say(
            f"Starting a service in {cgroup.key}: {p.backlog} connections may wait, accepting one takes {p.accept_us} "
            "µs"
        )
        server.start(PATH)
        stack.callback(server.stop)
        burst = f", {p.burst} more at once every {p.every_ms:g} ms" if p.burst else ""
        kept = "over connections that stay" if p.keep else "over a connection each"
        say(f"{p.qps:g} requests/s {kept}{burst}; a round trip of {2 * p.delay_ms:g} ms; {p.seconds:g} s")
        yield Bench(Stage(server, cgroup, clients, folder), server, link, p)


def _options(p: Parameters) -> list[str]:
    return [f"--answer-bytes={_ANSWER_BYTES}", f"--backlog={p.backlog}", f"--accept-us={p.accept_us}"]


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if the service dies or the driver cannot keep up."""
    p = made.parameters
    with Counters(made.wire.server) as counters:
        done = made.stage.measure(made.load, Window.soon(p.seconds, p.calm_seconds), _PERIOD_US, say)
    counted = counters.between(done.from_us, done.to_us)
    result = done.load
    inside = (result.sent_us >= done.from_us) & (result.sent_us < done.to_us)
    all_waited = (result.latency_us > 1000 * (1000 - LATE_MS)) | (result.result == TIMEOUT)
    waited = inside & all_waited
    # It began with the load, before the window. If clients are far away and reconnect, it began with the first of them.
    late = all_waited if all_waited.any() else np.full(len(inside), bool(p.delay_ms) and not p.keep)
    first = int(result.sent_us[late][0]) if late.any() else None
    sent = int(inside.sum())
    return Run(
        done,
        WireFigures(
            **done.figures.model_dump(), opened=counted.opened, dropped=counted.dropped,
            # The kernel also counts SYN-ACKs.
            resent=counted.resent if p.keep else None,
            waited_share=float(waited.sum()) / sent if sent else None,
        ),
        first,
    )  # fmt: skip


@contextmanager
def loaded(made: Bench, window: Window) -> Iterator[tuple[Callable[[], bool], Callable[[], None]]]:
    """Send the load without measuring.

    The yielded object says whether the load still runs, and can make clients keep their connections.
    """
    out, seconds = made.stage.folder / "load.bin", (window.to_us - window.start_us) / 1e6
    stage = made.stage
    with load.start(made.server, made.load, seconds, window.start_us, stage.cgroup, stage.clients, out) as driver:

        def goes_on() -> bool:
            if not made.server.is_running():
                raise LabError(f"{made.server.name} exited under load.")
            if driver.poll():
                load.finish(driver, out)
            return driver.returncode is None

        try:
            yield goes_on, lambda: driver.send_signal(signal.SIGUSR1)
        finally:
            processes.stop(driver)
