"""A CoreDNS with a memory limit before an upstream that takes its time; the load, and what happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jitterscope.labs import coredns
from jitterscope.labs.addresses import Block
from jitterscope.labs.cgroups import Hierarchies, LabCgroup, LabRun, remove_stale
from jitterscope.labs.console import Say
from jitterscope.labs.errors import LabError
from jitterscope.labs.load import LoadResult
from jitterscope.labs.oom.figures import MIB, OomFigures, measured
from jitterscope.labs.oom.truth import Watcher
from jitterscope.labs.oom.variants import Parameters
from jitterscope.labs.pace import check_pace
from jitterscope.labs.rise import Rise
from jitterscope.labs.servers import Server, free_port

_NAMES = tuple(f"{name}.partner.example" for name in ("api", "pay", "mail", "cdn"))
_READY = "ready.lab.test"
_KEPT_S = 3_600


@dataclass(frozen=True, slots=True)
class Run:
    """What happened, by the lab's own account, in [from_us, to_us). `killed_us`: the first OOM kill."""

    from_us: int
    to_us: int
    figures: OomFigures
    killed_us: int | None
    load: LoadResult


@dataclass(frozen=True, slots=True)
class Bench:
    """The running servers, before their load: each in a cgroup of its own, that of CoreDNS with the limit."""

    server: Server
    upstream: Server
    clients: LabCgroup
    addresses: Block
    folder: Path
    parameters: Parameters


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start both servers, and see that a query passes through; all of it is gone afterwards."""
    hierarchies = Hierarchies.of_this_machine()
    for name in remove_stale(hierarchies):
        say(f"Removed the cgroup {name} of a lab that was killed")
    names, block = LabRun(hierarchies), Block.unused()
    with ExitStack() as stack:

        def running(name: str, endpoint: tuple[str, int], corefile: str) -> Server:
            cgroup = names.cgroup(name)
            stack.callback(cgroup.remove)
            # The product has seconds to speak before the kill: a burst must not keep the CPU from it.
            cgroup.create(preferred=False)
            server = coredns.configured(name, endpoint, folder, cgroup, corefile)
            server.start(_READY)
            stack.callback(server.stop)
            return server

        clients = names.cgroup("clients")
        stack.callback(clients.remove)
        clients.create(preferred=False)
        say(f"Starting an upstream that takes {parameters.delay_ms:g} ms and a CoreDNS")
        address = block.address(2, 1)
        endpoint = (address, free_port(address, 10053))
        upstream = running("upstream", endpoint, coredns.slow_corefile(endpoint, parameters.delay_ms, _READY))
        address = block.address(0, 10)
        own = (address, free_port(address, 53))
        server = running("coredns", own, _corefile(own, endpoint, parameters))
        server.cgroup.limit_memory(int(parameters.memory_mib * MIB))
        yield Bench(server, upstream, clients, block, folder, parameters)


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
    """Send the load, measure. Raises LabError where the upstream dies, or CoreDNS without the OOM killer."""
    p = made.parameters
    rise = Rise.soon(p, _NAMES, made.addresses, say)
    server = made.server
    with Watcher(server.cgroup, server.pid) as watcher:
        result = rise.send(server, made.clients, made.folder / "load.bin")
        readings = watcher.readings()
    killed_us = readings.killed_us()
    if not made.upstream.is_running():
        raise LabError("The upstream ended during the run.")
    if killed_us is None and not server.is_running():
        raise LabError(f"CoreDNS ended during the run, and not for want of memory:\n{server.said()}")
    check_pace(result, say)
    if killed_us is not None:
        say(f"CoreDNS was killed {(killed_us - rise.from_us) / 1e6:.1f} s after the load began")
    figures = measured(result, readings, rise.from_us, rise.to_us)
    return Run(rise.from_us, rise.to_us, figures, killed_us, result)
