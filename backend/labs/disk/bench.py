"""A service on its own file system under an I/O limit, requests to it, and the measurements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from labs import built
from labs.blocking import BlockedThreads
from labs.cgroups import LabRun
from labs.console import Say
from labs.disk.variants import Parameters
from labs.figures import Figures
from labs.limited import Limit, Measured, Stage, Window, unlimit
from labs.load import Load
from labs.service.servers import PATH, HttpService
from labs.volumes import Volume, limit_io, volume

_PERIOD_US = 100_000
_KIB = 1 << 10


class DiskFigures(Figures):
    """`blocked_s`: how long threads of the service were blocked in the kernel, summed."""

    blocked_s: float | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """The running service, before its load. `parameters` are complete."""

    stage: Stage
    volume: Volume
    parameters: Parameters

    @property
    def load(self) -> Load:
        return Load(self.parameters.qps, names=(PATH,), http=True)


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured
    figures: DiskFigures


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """The service with its limits, in its own cgroup; everything is removed afterwards."""
    p, names = parameters, LabRun.begin(say)
    cgroup, clients = names.cgroup("journal"), names.cgroup("clients")
    with ExitStack() as stack:
        disk = stack.enter_context(volume(folder, p.volume_mib))
        stack.callback(cgroup.remove)
        cgroup.create()
        clients.create()
        limit_io(cgroup, disk, write_bps=_bytes(p.write_kib_s))
        server = HttpService("the service", [*_command(p, disk.folder)], cgroup, {})
        made = Stage(server, cgroup, clients, folder)
        server.start(PATH)
        stack.callback(server.stop)
        stack.callback(limit_io, cgroup, disk)  # so that it can end quickly
        stack.callback(unlimit, cgroup)
        shape = Load(p.qps, names=(PATH,), http=True)
        if p.quota_us is None:
            p = p.model_copy(update={"quota_us": made.too_low_us(shape, _PERIOD_US, say)})
        made.limit(Limit(-1 if p.quota_us is None else p.quota_us, _PERIOD_US, 0))
        limit = f"{p.write_kib_s} KiB/s" if p.write_kib_s >= 0 else "unlimited bytes"
        say(f"It may write {limit} to {disk.device}; {p.qps:g} requests/s for {p.seconds:g} s")
        yield Bench(made, disk, p)


def _bytes(kib: int) -> int:
    return kib * _KIB if kib >= 0 else -1


def _command(p: Parameters, folder: Path) -> list[str]:
    return [
        str(built.program("jitterscope-service", "JITTERSCOPE_SERVICE")),
        f"--journal={folder / 'journal'}",
        f"--record-kib={p.record_kib}",
        f"--sync={str(p.sync).lower()}",
        f"--checkpoint-kib={p.checkpoint_kib}",
        f"--checkpoint-every={p.checkpoint_every_ms}ms",
        f"--hashed-kib={p.hashed_kib}",
        f"--slow-every={p.slow_every}",
        f"--slow-ms={p.slow_ms}",
        "--answer-bytes=2000",
    ]


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if the service dies or the driver cannot keep up."""
    p = made.parameters
    with BlockedThreads(made.stage.server.pid) as blocked:
        done = made.stage.measure(made.load, Window.soon(p.seconds, p.settle_s), _PERIOD_US, say)
    figures = done.figures.model_dump()
    return Run(done, DiskFigures(**figures, blocked_s=blocked.blocked_s(done.from_us, done.to_us)))
