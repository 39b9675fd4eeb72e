"""Clients whose rates change at random: stretches of some 30 to 90 s, each over its own connections, with surges."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jitterscope.diagnosis.core.query_results import TIMEOUT
from labs import load, processes
from labs.cgroups import LabCgroup
from labs.console import Say
from labs.load import Load
from labs.mixed.fleet import Asked, Member, is_running
from labs.mixed.parameters import Parameters
from labs.pace import tick_after
from labs.servers import Server

_STRETCH_S, _SHORTEST_S, _LEAD_S, _LOOK_S = (30.0, 90.0), 5.0, 0.8, 0.25


class Stream:
    """Load on one member, one stretch after another."""

    def __init__(self, member: Member, server: Server, asked: Asked, clients: LabCgroup, seed: int) -> None:
        self.member = member
        self._server, self._asked, self._clients = server, asked, clients
        self._draw = np.random.default_rng(seed)
        self._driver: subprocess.Popen[bytes] | None = None
        self._latency: list[NDArray[np.int32]] = []
        self._lost: list[NDArray[np.bool_]] = []

    def go_on(self, until_s: float, rate: float, out: Path) -> bool:
        """Begin the next stretch if none runs; False once none runs and none fits in before `until_s`."""
        if self._driver is not None:
            if self._driver.poll() is None:
                return True
            self._keep(self._driver, out)
        start_s = time.time() + _LEAD_S
        seconds = min(self._draw.uniform(*_STRETCH_S), until_s - start_s)
        if seconds < _SHORTEST_S:
            return False
        self._driver = load.start(
            self._server, self._shape(rate), round(seconds, 1), tick_after(start_s), self.member.cgroup,
            self._clients, out,
        )  # fmt: skip
        return True

    def _shape(self, rate: float) -> Load:
        """A rate of half to one and a half times the usual one, and surges to up to three times that."""
        draw, qps = self._draw, self._asked.qps * rate * self._draw.uniform(0.5, 1.5)
        return Load(
            qps=round(qps, 1), burst_qps=round(qps * draw.uniform(1.2, 3.0), 1), burst_ms=draw.uniform(500, 4_000),
            every_ms=draw.uniform(8_000, 25_000), names=self._asked.names, http=self._asked.http,
        )  # fmt: skip

    def _keep(self, driver: subprocess.Popen[bytes], out: Path) -> None:
        self._driver = None
        done = load.finish(driver, out)
        processes.stop(driver)
        self._latency.append(done.latency_us)
        self._lost.append(done.result == TIMEOUT)

    def stop(self) -> None:
        """End whatever runs."""
        if self._driver is not None:
            processes.stop(self._driver)

    def latencies(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """Latencies of all requests in µs, and which were lost."""
        return np.concatenate([np.zeros(0, np.int32), *self._latency]), np.concatenate(
            [np.zeros(0, np.bool_), *self._lost]
        )


@contextmanager
def _streams(members: Sequence[Member], clients: LabCgroup, seed: int) -> Iterator[list[Stream]]:
    made = [
        Stream(one, one.server, one.asked, clients, seed * 1_000 + number)
        for number, one in enumerate(members)
        if one.asked is not None and isinstance(one.server, Server)
    ]
    try:
        yield made
    finally:
        for one in made:
            one.stop()


def run(
    parameters: Parameters, rate: float, members: Sequence[Member], clients: LabCgroup, folder: Path, say: Say
) -> list[Stream]:
    """Send the load, `rate` times the usual one. Raises LabError if a server exits or a driver fails."""
    until_s = time.time() + parameters.minutes * 60
    with _streams(members, clients, parameters.seed) as streams:
        say(f"Load on {len(streams)} of {len(members)} servers for {parameters.minutes:g} min, seed {parameters.seed}")
        going = list(streams)
        while going:
            going = [one for one in going if one.go_on(until_s, rate, folder / f"{one.member.name}.load")]
            for member in members:
                is_running(member)
            time.sleep(_LOOK_S)
    return streams
