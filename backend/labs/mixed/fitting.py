"""The rate at which most of the machine stays unused: on a full node, answers wait for a CPU."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psutil

from labs import load, processes
from labs.cgroups import LabCgroup
from labs.console import Say
from labs.errors import LabError
from labs.load import Load
from labs.mixed.fleet import Member
from labs.pace import tick_after
from labs.servers import Server

# Of all CPUs, by everything on the machine; surges need three times as much.
USED = 0.4
# Programs compile their code while they begin to answer, which is not counted.
_TRIED, _IDLE_S, _BEGINS_S, _TRIED_S, _LEAD_S = 0.5, 5.0, 15.0, 10.0, 0.8
_LEAST = 0.1


def fitting_rate(members: Sequence[Member], clients: LabCgroup, folder: Path, say: Say) -> float:
    """The factor of all rates, at most 1; half of the usual load is sent to find it.

    Raises LabError if the machine is too busy for a tenth of the usual load.
    """
    say(f"Finding the rate at which {100 * (1 - USED):.0f} % of the machine stays unused")
    idle = _busy(_IDLE_S)
    with ExitStack() as stack:
        for member in members:
            if (driver := _begin(member, clients, folder)) is not None:
                stack.callback(processes.stop, driver)
        time.sleep(_LEAD_S + _BEGINS_S)
        tried = _busy(_TRIED_S)
    rate = fitted(idle, tried, psutil.cpu_count() or 1)
    say(f"Of the CPUs, {idle:.2f} are used without load, {tried:.2f} with half of it: the rate is {rate:g}")
    return rate


def fitted(idle: float, tried: float, cpus: int) -> float:
    """The rate, from the CPUs that are used without load and at half of the usual rate."""
    spare = USED * cpus - idle
    rate = spare / (tried - idle) * _TRIED if tried > idle else 1.0
    if rate < _LEAST:
        raise LabError(
            f"Of {cpus} CPUs, {idle:.2f} are used without any load: end other work on this machine, or give --rate"
        )
    return round(min(rate, 1.0), 2)


def _begin(member: Member, clients: LabCgroup, folder: Path) -> subprocess.Popen[bytes] | None:
    asked = member.asked
    if asked is None or not isinstance(member.server, Server):
        return None
    sent = Load(qps=asked.qps * _TRIED, names=asked.names, http=asked.http)
    start_us = tick_after(time.time() + _LEAD_S)
    out = folder / f"{member.name}.fitting"
    return load.start(member.server, sent, _BEGINS_S + _TRIED_S + 1, start_us, member.cgroup, clients, out)


def _busy(seconds: float) -> float:
    """CPUs used by anything."""
    return sum(psutil.cpu_percent(interval=seconds, percpu=True)) / 100
