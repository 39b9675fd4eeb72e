"""Runs a known load under a real CFS limit; returns the kernel's counts and how much the machine disturbed the load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jitterscope.diagnosis.core.snapshot import FloatArray
from labs.cgroups import Hierarchies, LabCgroup

BURNER = Path(__file__).with_name("cfs_burner.py")


@dataclass(frozen=True, slots=True)
class Point:
    """One cell of the grid, all in µs. `work_us` is each thread's in an on-phase, which starts every `every_us`."""

    quota_us: int
    period_us: int
    burst_us: int
    threads: int
    work_us: int
    every_us: int
    seconds: float = 3.7

    @property
    def phases(self) -> int:
        return max(2, int(self.seconds * 1e6 / self.every_us))


@dataclass(frozen=True, slots=True)
class Counted:
    """What cpu.stat counted over the run; times in ms, summed over CPUs.

    `log` has a row (ns) per thread and phase: planned, began, ended, CPU used. `disturbed_ratio`: time that others took
    from its threads, per CPU time used.
    """

    periods: int
    throttled: int
    throttled_ms: float
    bursts: int
    burst_ms: float
    cpus: int
    log: tuple[tuple[tuple[int, int, int, int], ...], ...]
    disturbed_ratio: float

    def work_steps_us(self, step_us: int) -> FloatArray:
        """The load as it would have run without a limit, per step from the first planned phase on.

        Every thread starts when it planned to, or when its own earlier work is done.
        """
        start = self.log[0][0][0]
        until = max(row[2] for thread in self.log for row in thread) - start
        edges = np.arange(int(until / 1e3 / step_us) + 2) * float(step_us)
        steps = np.zeros(len(edges) - 1)
        for thread in self.log:
            free = 0.0
            for planned, _, _, used in thread:
                begins = max(free, (planned - start) / 1e3)
                free = begins + used / 1e3
                steps += np.diff(np.clip(edges, begins, free))
        return steps


def run(point: Point, hierarchies: Hierarchies) -> Counted:
    """Needs root. The cgroup is the test's own and is removed in any case."""
    cpus = sorted(os.sched_getaffinity(0))
    used_cpus = cpus[: point.threads]
    cgroup = LabCgroup(hierarchies, "known-load")
    with ExitStack() as cleanup:
        cleanup.callback(cgroup.remove)
        cgroup.create()
        cgroup.limit_cpu(point.quota_us, point.period_us, point.burst_us)
        workers = []
        for index in range(point.threads):
            numbers = (cpus[index % len(cpus)], point.work_us, point.every_us, point.phases)
            worker = subprocess.Popen(
                [sys.executable, str(BURNER), *(str(number) for number in numbers)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            cleanup.callback(_end, worker)
            workers.append(worker)
        for worker in workers:
            assert _line(worker) == "ready\n"
            # Only what follows is the load: Python's start stays outside the limit.
            for path in cgroup.procs_files():
                path.write_text(str(worker.pid))
        before, stolen, waited = _stat(cgroup), _stolen_us(used_cpus), _waited_us(workers)
        start = time.monotonic_ns() + 50_000_000
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write(f"{start}\n")
            worker.stdin.flush()
        log = tuple(tuple((a, b, c, d) for a, b, c, d in json.loads(_line(worker))) for worker in workers)
        # The last period counts when it ends.
        time.sleep(2.5 * point.period_us / 1e6)
        after, stolen, waited = _stat(cgroup), _stolen_us(used_cpus) - stolen, _waited_us(workers) - waited
    work = sum(row[3] for thread in log for row in thread) / 1e3
    throttled_ms = after["throttled_ms"] - before["throttled_ms"]
    # Threads that share a CPU wait for each other, and throttled ones for a refill: the load's own doing.
    own = work * (point.threads / len(used_cpus) - 1) + throttled_ms * 1e3 * point.threads / len(used_cpus)
    return Counted(
        periods=int(after["nr_periods"] - before["nr_periods"]),
        throttled=int(after["nr_throttled"] - before["nr_throttled"]),
        throttled_ms=throttled_ms,
        bursts=int(after["nr_bursts"] - before["nr_bursts"]),
        burst_ms=after["burst_ms"] - before["burst_ms"],
        cpus=len(used_cpus),
        log=log,
        disturbed_ratio=(stolen + max(0.0, waited - own)) / work,
    )


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline()


def _end(worker: subprocess.Popen[str]) -> None:
    """The end of its input ends it."""
    with worker:
        assert worker.stdin is not None
        worker.stdin.close()
        try:
            worker.wait(10)
        except subprocess.TimeoutExpired:
            worker.kill()


def _stat(cgroup: LabCgroup) -> dict[str, float]:
    """cpu.stat; v1 counts times in ns, v2 in µs."""
    found = {key: float(value) for key, value in (line.split() for line in cgroup.cpu_stat.read_text().splitlines())}
    for name in ("throttled", "burst"):
        found[f"{name}_ms"] = found[f"{name}_usec"] / 1e3 if f"{name}_usec" in found else found[f"{name}_time"] / 1e6
    return found


def _stolen_us(cpus: list[int]) -> float:
    """CPU time that the hypervisor gave to others."""
    names = {f"cpu{cpu}" for cpu in cpus}
    rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    return sum(float(row[8]) for row in rows if row[0] in names) * 1e6 / os.sysconf("SC_CLK_TCK")


def _waited_us(workers: list[subprocess.Popen[str]]) -> float:
    """Time in which they were runnable and others ran."""
    return sum(int(Path(f"/proc/{worker.pid}/schedstat").read_text().split()[1]) for worker in workers) / 1e3
