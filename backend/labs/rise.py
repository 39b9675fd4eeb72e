"""A load that rises after a calm period, from several clients that each query something new."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from jitterscope.analyses.load_file import LoadResult
from labs import load
from labs.addresses import Block
from labs.cgroups import LabCgroup
from labs.console import Say
from labs.figures import TICK_US
from labs.load import Load
from labs.pace import tick_after
from labs.servers import Server

_LEAD_S = 1.5  # for the driver to start
_TIMEOUT_MS = 12_000  # CoreDNS gives up after 5 s plus what its last attempt takes
VOLLEY_QPS = 5_000.0  # per client, of the queries sent at once: it has query IDs for no more
_CLIENTS = 3  # the network in the lab's block that has the client addresses


class Rising(Protocol):
    """Parameters of a run."""

    qps: float
    calm_qps: float
    seconds: float
    calm_seconds: float
    clients: int


@dataclass(frozen=True, slots=True)
class Rise:
    """Calm from `start_us`, the full rate in [from_us, to_us): ticks, µs since the epoch."""

    start_us: int
    from_us: int
    to_us: int
    load: Load

    @classmethod
    def soon(
        cls,
        p: Rising,
        names: tuple[str, ...],
        addresses: Block,
        say: Say,
        *,
        unique: bool = True,
        volley: int = 0,
    ) -> Self:
        """A rise that begins as soon as a driver can be ready. `unique`: no name is queried twice.

        `volley`: this many queries at once, at intervals as long as the calm.
        """
        say(f"{p.calm_qps:g} queries/s for {p.calm_seconds:g} s, then {p.qps:g} queries/s for {p.seconds:g} s")
        calm_us = round(p.calm_seconds * 1e6 / TICK_US) * TICK_US
        start_us = tick_after(time.time() + _LEAD_S)
        from_us = start_us + calm_us
        if volley:
            say(f"{volley} queries at once every {p.calm_seconds:g} s")
        shape = Load(
            p.qps,
            burst_qps=VOLLEY_QPS * p.clients if volley else 0.0,
            burst_ms=1e3 * volley / (VOLLEY_QPS * p.clients),
            every_ms=calm_us / 1e3,
            calm_qps=p.calm_qps if calm_us else 0.0,
            calm_s=calm_us / 1e6,
            names=names,
            unique=unique,
            clients=tuple(addresses.address(_CLIENTS, index + 1) for index in range(p.clients)),
            timeout_ms=_TIMEOUT_MS,
        )
        return cls(start_us, from_us, from_us + round(p.seconds * 1e6 / TICK_US) * TICK_US, shape)

    def send(self, server: Server, clients: LabCgroup, out: Path) -> LoadResult:
        """Send it from the cgroup `clients`. Raises LabError if the driver fails."""
        seconds = (self.to_us - self.start_us) / 1e6
        return load.run(server, self.load, seconds, self.start_us, server.cgroup, clients, out)
