"""A CoreDNS and its upstream in their own network, the load, and the measurements."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from jitterscope.analyses.load_file import LoadResult
from jitterscope.diagnosis.core.query_results import GIVEN_UP_US, SERVFAIL, TIMEOUT
from jitterscope.diagnosis.core.severity import SLOW_US
from labs import coredns, dnsmasq, packages, processes, unbound
from labs.addresses import Block
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.errors import LabError
from labs.forwarding.variants import Parameters
from labs.links import Network
from labs.pace import check_pace
from labs.rise import Rise
from labs.servers import Server, free_port

_ZONE, _MISSING, READY = "partner.example", "missing.example", "ready.lab.test"
_NAMES = tuple(f"{name}.{_ZONE}" for name in ("api", "pay", "mail", "cdn"))
_NXDOMAIN = 1


class ForwardFigures(BaseModel):
    """Over the measured window, at CoreDNS: shares of all queries. Slow: over 20 ms; lost: over 5 s or no answer."""

    model_config = ConfigDict(extra="forbid")

    queries: int | None = None
    p50_ms: float | None = None
    slow_share: float | None = None
    nxdomain_share: float | None = None
    servfail_share: float | None = None
    lost_share: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What happened in [from_us, to_us), as measured by the lab itself."""

    from_us: int
    to_us: int
    figures: ForwardFigures


@dataclass(frozen=True, slots=True)
class Bench:
    """The running servers, before their load, each in its own cgroup."""

    server: Server
    upstream: Server
    clients: LabCgroup
    addresses: Block
    folder: Path
    parameters: Parameters
    # Starts another one with its own address and limit; it ends with the bench.
    another_upstream: Callable[[], Server]


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start both servers, and check that a query passes through; everything is removed afterwards."""
    names, block, network = LabRun.begin(say), Block.unused(), Network.unused()
    numbers = itertools.count()
    with ExitStack() as stack:

        def cgroup(name: str) -> LabCgroup:
            made = names.cgroup(name)
            stack.callback(made.remove)
            made.create()
            return made

        def running(server: Server) -> Server:
            server.start(READY)
            stack.callback(server.stop)
            return server

        def another_upstream() -> Server:
            number = next(numbers)
            name = f"upstream-{number}" if number else "upstream"
            own, target = cgroup(name), (network.pod(number), 53)
            inside = _network_of_its_own(network, number, own, stack)
            if parameters.limit_qps is None:
                made = _upstream(name, target, folder, own, parameters, inside)
            else:
                made = unbound.server(name, target, folder, own, (_ZONE, READY), parameters.limit_qps, inside)
            running(made)
            if parameters.loss_percent:
                say(f"{parameters.loss_percent:g} % of the packets to the upstream are dropped")
                _drop(inside, folder, parameters.loss_percent)
            return made

        clients = cgroup("clients")
        if parameters.limit_qps is None:
            say(f"Starting an upstream that takes {parameters.delay_ms:g} ms and a CoreDNS")
        else:
            say(f"Starting an unbound that answers {parameters.limit_qps} queries/s and a CoreDNS")
        upstream = another_upstream()
        own = (block.address(0, 10), free_port(block.address(0, 10), 53))
        target = (upstream.address, upstream.port)
        if parameters.logged:
            say(f"The server is a dnsmasq that logs the {parameters.logged} addresses of each answer")
            server = _logging(own, target, folder, cgroup("dnsmasq"), parameters.logged)
        else:
            corefile = _corefile(own, target, parameters)
            server = coredns.configured("coredns", own, folder, cgroup("coredns"), corefile)
        running(server)
        yield Bench(server, upstream, clients, block, folder, parameters, another_upstream)


def _network_of_its_own(network: Network, number: int, cgroup: LabCgroup, stack: ExitStack) -> list[str]:
    """The network's `number`-th namespace, which ends with the lab; returns the command that enters it."""
    holder = processes.spawn(["unshare", "--net", "cat"], cgroup_procs=cgroup.procs_files(), stdin=subprocess.PIPE)
    stack.callback(processes.stop, holder)
    entered = Path(f"/proc/{holder.pid}/ns/net")
    own = Path("/proc/self/ns/net").readlink()
    for _ in range(200):
        if entered.readlink() != own:
            break
        try:
            holder.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        raise LabError("Cannot make a network namespace: run the lab as root.")
    network.connect(number, holder.pid)
    return ["nsenter", f"--net={entered}"]


def _upstream(
    name: str,
    endpoint: tuple[str, int],
    folder: Path,
    cgroup: LabCgroup,
    parameters: Parameters,
    inside: list[str],
) -> Server:
    """A CoreDNS that knows every name except those of the nonexistent zone, and delays all answers."""
    corefile = coredns.denying(endpoint, [_MISSING], parameters.delay_ms)
    corefile += coredns.slow_corefile(endpoint, parameters.delay_ms, READY)
    made = coredns.configured(name, endpoint, folder, cgroup, corefile)
    made.command = [*inside, *made.command]
    return made


def _logging(
    endpoint: tuple[str, int], upstream: tuple[str, int], folder: Path, cgroup: LabCgroup, addresses: int
) -> Server:
    """A dnsmasq that logs a line for each address of an answer, in the thread that reads its socket."""
    hosts = folder / "hosts"
    coredns.write_hosts(hosts, 0, addresses)
    more = (f"--addn-hosts={hosts}", "--edns-packet-max=4096", "--log-queries")
    return dnsmasq.server("dnsmasq", endpoint, folder, cgroup, upstream, more=more)


def _drop(inside: list[str], folder: Path, percent: float) -> None:
    """Drop packets that arrive in the upstream's network at random, including TCP, as on a lossy link."""
    unpacked = packages.unpacked("nftables")
    rules = folder / "loss.nft"
    rules.write_text(
        "table inet lab {\n    chain arriving {\n        type filter hook input priority 0;\n"
        f"        meta l4proto {{ tcp, udp }} th dport 53 numgen random mod 10000 < {round(percent * 100)} drop\n"
        "    }\n}\n"
    )
    program = str(unpacked / "usr" / "sbin" / "nft")
    packages.run([*inside, program, "-f", str(rules)], environment=packages.environment(unpacked))


def _corefile(endpoint: tuple[str, int], upstream: tuple[str, int], parameters: Parameters) -> str:
    address, port = endpoint
    cache = "    cache 30\n" if parameters.missing and parameters.denial_cache else ""
    return (
        f".:{port} {{\n    bind {address}\n    errors\n    prometheus {address}:{free_port(address, 9153)}\n{cache}"
        f"    forward . {upstream[0]}:{upstream[1]} {{\n        max_fails 0\n    }}\n}}\n"
    )


def rise_of(made: Bench, parameters: Parameters, say: Say) -> Rise:
    """The variant's load, starting soon."""
    p = parameters
    names = coredns.WIDE_NAMES if p.logged else tuple(f"host{index}.{_MISSING}" for index in range(p.missing)) or _NAMES
    return Rise.soon(p, names, made.addresses, say, unique=not p.missing and not p.logged, volley=p.volley)


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if a server dies or the driver cannot keep up."""
    p = made.parameters
    rise = rise_of(made, p, say)
    result = rise.send(made.server, made.clients, made.folder / "load.bin")
    if ended := [one.name for one in (made.server, made.upstream) if not one.is_running()]:
        raise LabError(f"{', '.join(ended)} exited during the run.")
    check_pace(result, say)
    return Run(rise.from_us, rise.to_us, _measured(result, rise.from_us, rise.to_us))


def _measured(load: LoadResult, from_us: int, to_us: int) -> ForwardFigures:
    inside = (load.sent_us >= from_us) & (load.sent_us < to_us)
    latency, result = load.latency_us[inside], load.result[inside]
    if not result.size:
        return ForwardFigures()
    lost = (result == TIMEOUT) | (latency > GIVEN_UP_US)
    return ForwardFigures(
        queries=int(result.size),
        p50_ms=float(np.median(latency[~lost])) / 1e3 if (~lost).any() else None,
        slow_share=float((latency[~lost] > SLOW_US).sum() / result.size),
        nxdomain_share=float((result == _NXDOMAIN).mean()),
        servfail_share=float(((result == SERVFAIL) & ~lost).mean()),
        lost_share=float(lost.mean()),
    )
