"""A service with files under a memory limit, requests for them, and the measurements."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labs import built
from labs.blocking import BlockedThreads
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.figures import Figures
from labs.limited import Limit, Measured, Stage, Window, unlimit
from labs.load import Load
from labs.pagecache.variants import Parameters
from labs.repeating import Reading
from labs.service.servers import PATH, HttpService
from labs.volumes import MIB, limit_io, volume

_PERIOD_US = 100_000
_REFAULTS = {1: "total_workingset_refault_file", 2: "workingset_refault_file"}
# How often each file is in the list that is requested in turn: what comes next must not follow from what came last.
_ROUNDS = 5


class CacheFigures(Figures):
    """`refaults`: file pages read again, by the kernel's counter; `blocked_s`: how long threads were blocked."""

    refaults: int | None = None
    blocked_s: float | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """The running service, before its load. `parameters` are complete."""

    stage: Stage
    parameters: Parameters
    load: Load


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, as measured by the lab itself."""

    measured: Measured
    figures: CacheFigures


class Refaults(Reading):
    """Refaults of a cgroup, sampled twice a second."""

    def __init__(self, cgroup: LabCgroup) -> None:
        super().__init__(0.5)
        self._file, self._field = cgroup.memory / "memory.stat", _REFAULTS[cgroup.version]

    def look(self, late_us: int) -> None:
        stat = dict(line.split() for line in self._file.read_text().splitlines())
        self._rows.append((time.time_ns() // 1000, int(stat.get(self._field, 0)), late_us, 0))

    def between(self, from_us: int, to_us: int) -> int:
        """Refaults in the window."""
        at, pages, _, _ = self.columns()
        before, after = np.interp([from_us, to_us], at, pages)
        return round(float(after - before))


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """The service with its limits, in its own cgroup; everything is removed afterwards."""
    p, names = parameters, LabRun.begin(say)
    cgroup, clients = names.cgroup("files"), names.cgroup("clients")
    with ExitStack() as stack:
        disk = stack.enter_context(volume(folder, 64 + 2 * p.files * p.file_kib // 1024))
        _write(disk.folder, p)
        stack.callback(cgroup.remove)
        cgroup.create()
        clients.create()
        cgroup.limit_memory(p.memory_mib * MIB)
        server = HttpService("the service", _command(p, disk.folder), cgroup, {})
        made = Stage(server, cgroup, clients, folder)
        server.start(PATH)
        stack.callback(server.stop)
        stack.callback(limit_io, cgroup, disk)  # so that it can end quickly
        stack.callback(unlimit, cgroup)
        for number in range(p.files):  # otherwise the first requests would find nothing in memory
            server.answers(f"/f{number}")
        limit_io(cgroup, disk, read_bps=p.read_mib_s * MIB if p.read_mib_s >= 0 else -1)
        shape = Load(p.qps, names=_paths(p), http=True)
        if p.quota_us is None:
            p = p.model_copy(update={"quota_us": made.too_low_us(shape, _PERIOD_US, say)})
        made.limit(Limit(-1 if p.quota_us is None else p.quota_us, _PERIOD_US, 0))
        say(f"{p.files} files of {p.file_kib} KiB, a memory limit of {p.memory_mib} MiB; {p.qps:g} requests/s")
        yield Bench(made, p, shape)


def _write(folder: Path, p: Parameters) -> None:
    """Write the files, and drop them from the page cache: page cache is charged to whoever reads a page first."""
    for number in range(p.files):
        with (folder / f"f{number}").open("wb") as file:
            file.write(os.urandom(p.file_kib * 1024))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _paths(p: Parameters) -> tuple[str, ...]:
    order = np.random.default_rng(7).integers(p.files, size=_ROUNDS * p.files)
    return tuple(f"/f{number}" for number in order)


def _command(p: Parameters, folder: Path) -> list[str]:
    program = built.program("jitterscope-service", "JITTERSCOPE_SERVICE")
    return [str(program), f"--files={folder}", f"--hashed-kib={p.hashed_kib}"]


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if the service dies or the driver cannot keep up."""
    p, stage = made.parameters, made.stage
    with BlockedThreads(stage.server.pid) as blocked, Refaults(stage.cgroup) as refaults:
        done = stage.measure(made.load, Window.soon(p.seconds, p.settle_s), _PERIOD_US, say)
    figures = done.figures.model_dump()
    window = done.from_us, done.to_us
    return Run(
        done,
        CacheFigures(**figures, refaults=refaults.between(*window), blocked_s=blocked.blocked_s(*window)),
    )
