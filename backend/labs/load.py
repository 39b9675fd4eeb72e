"""The load driver (collector/cmd/jitterscope-load) and the file it writes."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from jitterscope.analyses.load_file import LoadResult, read
from labs import built, processes
from labs.cgroups import LabCgroup
from labs.coredns import WIDE_NAMES
from labs.errors import LabError
from labs.servers import Server

TIMEOUT_MS = 5000
_READING_SHARE = 0.05  # of each CPU, for the thread that reads counters, which needs a tenth of that


@dataclass(frozen=True, slots=True)
class Load:
    """Queries per second for `names` in turn, and bursts at another rate if `burst_qps` is not 0.

    `http`: send HTTP requests, whose paths are `names`. `grpc`: send gRPC calls, whose methods are `names`, on this
    many connections. `unique`: each query is for a new name below one of `names`.
    `clients`: addresses to send from, in turn. The first `calm_s` have their own rate. Requests use `ready`
    connections, plus new ones when all are busy; without `reuse`, one connection each. `whole`: an answer's time ends
    with its last byte. `inside`: the command that starts the driver where its clients are.
    """

    qps: float
    burst_qps: float = 0.0
    burst_ms: float = 0.0
    every_ms: float = 0.0
    calm_qps: float = 0.0
    calm_s: float = 0.0
    names: tuple[str, ...] = WIDE_NAMES
    unique: bool = False
    http: bool = False
    grpc: int = 0
    clients: tuple[str, ...] = ()
    timeout_ms: int = TIMEOUT_MS
    reuse: bool = True
    ready: int = 0
    whole: bool = False
    inside: tuple[str, ...] = ()


def start(
    server: Server, load: Load, seconds: float, start_us: int, cgroup: LabCgroup, clients: LabCgroup, out: Path
) -> subprocess.Popen[bytes]:
    """Start sending at `start_us` (µs since the epoch) for `seconds`, from within the cgroup `clients`.

    Meanwhile the driver reads the counters of the server's `cgroup`, at a higher priority than ordinary work: with late
    samples, the edges of a tick are a guess.
    """
    clients.allow_realtime(_READING_SHARE)
    command = [
        *load.inside,
        str(built.program("jitterscope-load", "JITTERSCOPE_LOAD")),
        f"--server={server.address}:{server.port}",
        f"--names={','.join(load.names)}",
        f"--http={str(load.http).lower()}",
        f"--grpc={load.grpc}",
        f"--unique={str(load.unique).lower()}",
        f"--reuse={str(load.reuse).lower()}",
        f"--ready={load.ready}",
        f"--whole={str(load.whole).lower()}",
        f"--clients={','.join(load.clients)}",
        f"--seconds={seconds}",
        f"--start-at-us={start_us}",
        f"--qps={load.qps}",
        f"--burst-qps={load.burst_qps}",
        f"--burst-ms={load.burst_ms}",
        f"--every-ms={load.every_ms}",
        f"--calm-qps={load.calm_qps}",
        f"--calm-seconds={load.calm_s}",
        f"--timeout-ms={load.timeout_ms}",
        f"--cpu-stat={cgroup.cpu_stat}",
        f"--out={out}",
        "--nice=-10",  # clients are other machines: nothing here may delay them
    ]
    if cgroup.cpuacct_usage is not None:
        command.append(f"--cpuacct-usage={cgroup.cpuacct_usage}")
    return processes.spawn(command, cgroup_procs=clients.procs_files(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(driver: subprocess.Popen[bytes], out: Path) -> LoadResult:
    """Wait for the driver and read what it measured."""
    printed, complaint = driver.communicate()
    if driver.returncode != 0:
        raise LabError(f"The load driver failed: {complaint.decode(errors='replace').strip()}")
    return read(out, json.loads(printed))


def run(
    server: Server, load: Load, seconds: float, start_us: int, cgroup: LabCgroup, clients: LabCgroup, out: Path
) -> LoadResult:
    """`start` and `finish`; the driver is removed afterwards in any case."""
    driver = start(server, load, seconds, start_us, cgroup, clients, out)
    try:
        return finish(driver, out)
    finally:
        processes.stop(driver)
