"""A server under a CPU limit and a load: what the labs of CPU limits share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

from jitterscope.analyses.load_file import LoadResult
from labs import load, processes
from labs.cgroups import LabCgroup
from labs.console import Say
from labs.errors import LabError
from labs.figures import TICK_US, Figures, first_throttled_query_us, measured
from labs.load import Load
from labs.pace import check_pace, tick_after
from labs.servers import Server

SETTLE_S = 2.0  # of load before the measured window, so that nothing in it happens for the first time
_LEAD_S = 1.5  # for the driver to start
_COST_S = 3.0  # of load without a limit show what a request costs
_SHARE = 0.6  # of what a load needs: a limit that is too low


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the CFS scheduler, in µs. `quota_us` -1: none."""

    quota_us: int
    period_us: int
    burst_us: int

    def __str__(self) -> str:
        if self.quota_us < 0:
            return "no CPU limit"
        return f"{self.quota_us / 1e3:g} ms of CPU per {self.period_us / 1e3:g} ms"


@dataclass(frozen=True, slots=True)
class Window:
    """Load from `start_us`, measured in [from_us, to_us): ticks, µs since the epoch."""

    start_us: int
    from_us: int
    to_us: int

    @classmethod
    def soon(cls, seconds: float, settle_s: float = SETTLE_S) -> Self:
        """A window that begins as soon as a driver can be ready."""
        start_us = tick_after(time.time() + _LEAD_S)
        from_us = start_us + round(settle_s * 1e6 / TICK_US) * TICK_US
        return cls(start_us, from_us, from_us + round(seconds * 1e6 / TICK_US) * TICK_US)


@dataclass(frozen=True, slots=True)
class Measured:
    """What happened in [from_us, to_us), as measured by the lab itself."""

    from_us: int
    to_us: int
    figures: Figures
    first_throttled_query_us: int | None
    load: LoadResult
    others_cpus: float  # what everything else on this machine used during that time, including clients and product


@dataclass(frozen=True, slots=True)
class Stage:
    """The running server in its own cgroup, before its load."""

    server: Server
    cgroup: LabCgroup
    clients: LabCgroup
    folder: Path

    def limit(self, limit: Limit) -> None:
        self.cgroup.limit_cpu(limit.quota_us, limit.period_us, limit.burst_us)

    def measure(self, shape: Load, window: Window, period_us: int, say: Say) -> Measured:
        """Send the load and measure. Raises LabError if the server dies or the driver cannot keep up."""
        from_us, to_us = window.from_us, window.to_us
        before, began = _busy_s(), time.monotonic()
        result = self._drive(shape, window)
        busy_cpus = (_busy_s() - before) / (time.monotonic() - began)
        if not self.server.is_running():
            raise LabError(f"{self.server.name} exited during the run.")
        check_pace(result, say)
        figures = measured(result, self.server.gc_cycles, from_us, to_us, period_us)
        others_cpus = max(0.0, busy_cpus - (figures.cpu_mean or 0.0))
        return Measured(from_us, to_us, figures, first_throttled_query_us(result), result, others_cpus)

    def cost_s(self, shape: Load) -> float:
        """CPU time per query or request under that load, without a limit."""
        window = Window.soon(_COST_S, 0)
        result = self._drive(shape, window)
        return float(result.counters[-1, 4] - result.counters[0, 4]) / 1e6 / max(1, result.sent_us.size)

    def too_low_us(self, shape: Load, period_us: int, say: Say) -> int:
        """A quota of 60 % of what the load needs, measured without a limit."""
        cost_s = self.cost_s(shape)
        say(f"A request costs {cost_s * 1e6:.0f} µs of CPU here at {shape.qps:g}/s")
        return max(1_000, round(_SHARE * shape.qps * cost_s * period_us / 1_000) * 1_000)

    def warm_up(self, shape: Load, seconds: float) -> None:
        """Send load without measuring anything."""
        self._drive(shape, Window.soon(seconds, 0))

    def _drive(self, shape: Load, window: Window) -> LoadResult:
        out, seconds = self.folder / "load.bin", (window.to_us - window.start_us) / 1e6
        return load.run(self.server, shape, seconds, window.start_us, self.cgroup, self.clients, out)

    @contextmanager
    def loaded(self, shape: Load, window: Window) -> Iterator[Callable[[], bool]]:
        """Send the load without measuring, until the window or the context ends.

        The yielded object says whether the load still runs, and raises LabError if the server or the driver died.
        """
        out, seconds = self.folder / "load.bin", (window.to_us - window.start_us) / 1e6
        with load.start(self.server, shape, seconds, window.start_us, self.cgroup, self.clients, out) as driver:

            def goes_on() -> bool:
                if not self.server.is_running():
                    raise LabError(f"{self.server.name} exited under load.")
                if driver.poll():
                    load.finish(driver, out)
                return driver.returncode is None

            try:
                yield goes_on
            finally:
                processes.stop(driver)


def unlimit(cgroup: LabCgroup) -> None:
    """Remove the limit, so that whatever runs in the cgroup can end quickly."""
    cgroup.limit_cpu(-1, 100_000, 0)


def _busy_s() -> float:
    """CPU time that the whole machine has used since boot."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))
