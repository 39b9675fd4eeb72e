"""A CoreDNS with a memory limit and a slow upstream, the load, and the measurements."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jitterscope.analyses.load_file import LoadResult
from labs import coredns, processes
from labs.addresses import Block
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.errors import LabError
from labs.oom.figures import MIB, OomFigures, measured
from labs.oom.truth import Watcher
from labs.oom.variants import Parameters
from labs.pace import check_pace
from labs.rise import Rise
from labs.servers import Server, free_port

NAMES = tuple(f"{name}.partner.example" for name in ("api", "pay", "mail", "cdn"))
READY = "ready.lab.test"
_KEPT_S = 3_600
_FILE = "read-again"


@dataclass(frozen=True, slots=True)
class Run:
    """What happened in [from_us, to_us), as measured by the lab itself. `killed_us`: the first OOM kill."""

    from_us: int
    to_us: int
    figures: OomFigures
    killed_us: int | None
    load: LoadResult


@dataclass(frozen=True, slots=True)
class Bench:
    """The running servers, before their load, each in its own cgroup; CoreDNS's has the limit."""

    server: Server
    upstream: Server
    clients: LabCgroup
    addresses: Block
    folder: Path
    parameters: Parameters


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start both servers, and check that a query passes through; everything is removed afterwards."""
    names, block = LabRun.begin(say), Block.unused()
    with ExitStack() as stack:

        def cgroup_for(name: str, *, preferred: bool) -> LabCgroup:
            """Not preferred is CoreDNS, of all others: the product has only seconds before the kill."""
            cgroup = names.cgroup(name, alone=preferred)
            stack.callback(cgroup.remove)
            cgroup.create(preferred=preferred)
            return cgroup

        def running(name: str, endpoint: tuple[str, int], corefile: str, memory_mib: float | None = None) -> Server:
            cgroup = cgroup_for(name, preferred=memory_mib is None)
            if memory_mib is not None:
                cgroup.limit_memory(int(memory_mib * MIB))
            server = coredns.configured(name, endpoint, folder, cgroup, corefile)
            server.start(READY)
            stack.callback(server.stop)
            return server

        clients = cgroup_for("clients", preferred=True)
        takes = f"that takes {parameters.delay_ms:g} ms" if parameters.delay_ms else "that answers at once"
        say(f"Starting an upstream {takes} and a CoreDNS")
        address = block.address(2, 1)
        endpoint = (address, free_port(address, 10053))
        if parameters.addresses > 1:
            corefile = coredns.quick_corefile(endpoint, parameters.addresses)
        else:
            corefile = coredns.slow_corefile(endpoint, parameters.delay_ms, READY)
        upstream = running("upstream", endpoint, corefile)
        address = block.address(0, 10)
        own = (address, free_port(address, 53))
        server = running("coredns", own, _corefile(own, endpoint, parameters), parameters.memory_mib)
        if parameters.file_mib:
            say(f"Beside it, {parameters.readers} processes read a file of {parameters.file_mib:g} MiB over and over")
            _write(folder / _FILE, round(parameters.file_mib))
        yield Bench(server, upstream, clients, block, folder, parameters)


@contextmanager
def readers(made: Bench, from_us: int) -> Iterator[None]:
    """From `from_us` on, `cat` in the server's cgroup reads a file over and over, several processes at once."""
    if not made.parameters.file_mib:
        yield
        return
    wait_s = max(0.0, from_us / 1e6 - time.time())
    script = f'sleep {wait_s:.3f}; while cat "$1" > /dev/null; do :; done'
    command = ["sh", "-c", script, "reader", str(made.folder / _FILE)]
    with ExitStack() as stack:
        for _ in range(made.parameters.readers):
            reader = processes.spawn(command, cgroup_procs=made.server.cgroup.procs_files())
            stack.callback(processes.stop, reader)
        yield


def _write(path: Path, mib: int) -> None:
    """Write a file that is on disk but not in memory: page cache is charged to the cgroup that reads it."""
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(bytes(MIB))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _corefile(endpoint: tuple[str, int], upstream: tuple[str, int], parameters: Parameters) -> str:
    address, port = endpoint
    cap = "" if parameters.max_concurrent is None else f"        max_concurrent {parameters.max_concurrent}\n"
    kept = parameters.cached_names
    cache = f"    cache {_KEPT_S} {{\n        success {kept} {_KEPT_S} {_KEPT_S}\n    }}\n" if kept else ""
    return (
        f".:{port} {{\n    bind {address}\n    errors\n    prometheus {address}:{free_port(address, 9153)}\n{cache}"
        f"    forward . {upstream[0]}:{upstream[1]} {{\n{cap}        max_fails 0\n    }}\n}}\n"
    )


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if the upstream dies, or if CoreDNS dies without an OOM kill."""
    p = made.parameters
    rise = Rise.soon(p, NAMES, made.addresses, say)
    server = made.server
    with Watcher(server.cgroup, server.pid) as watcher, readers(made, rise.from_us):
        result = rise.send(server, made.clients, made.folder / "load.bin")
        readings = watcher.readings()
    killed_us = readings.killed_us()
    if not made.upstream.is_running():
        raise LabError("The upstream exited during the run.")
    if killed_us is None and not server.is_running():
        raise LabError(f"CoreDNS exited during the run, but was not OOM-killed:\n{server.said()}")
    check_pace(result, say)
    if killed_us is not None:
        say(f"CoreDNS was OOM-killed {(killed_us - rise.from_us) / 1e6:.1f} s after the load began")
    figures = measured(result, readings, rise.from_us, rise.to_us)
    return Run(rise.from_us, rise.to_us, figures, killed_us, result)
