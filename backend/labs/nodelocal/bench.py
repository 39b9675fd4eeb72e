"""NodeLocal DNSCache, kube-dns's dnsmasq, and its upstream, as real servers; the load, and the measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from jitterscope.analyses.load_file import LoadResult
from labs import coredns, dnsmasq
from labs.addresses import Block
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.errors import LabError
from labs.nodelocal.figures import PathFigures, first_servfail_us, measured, slow_share
from labs.nodelocal.idle import IdleConnections
from labs.nodelocal.truth import Watcher
from labs.nodelocal.variants import Parameters
from labs.pace import check_pace
from labs.rise import Rise
from labs.servers import Server, free_port

# Services whose names were not looked up before, so that no cache has them.
NAMES = tuple(f"{name}.shop.svc.cluster.local" for name in ("cart", "stock", "price", "login"))
READY = "ready.lab.test"


@dataclass(frozen=True, slots=True)
class Run:
    """What happened in [from_us, to_us), as measured by the lab itself."""

    from_us: int
    to_us: int
    figures: PathFigures
    first_servfail_us: int | None
    calm_slow_share: float | None  # of the queries before that, except those that the load could still affect
    load: LoadResult


@dataclass(frozen=True, slots=True)
class Bench:
    """The running servers, before their load, each in its own cgroup."""

    node_local: Server
    dnsmasqs: tuple[Server, ...]
    upstream: Server
    clients: LabCgroup
    addresses: Block
    folder: Path
    parameters: Parameters
    # Makes a cgroup that ends with the bench; so does a server that is started.
    cgroup: Callable[[str], LabCgroup]
    running: Callable[[Server], Server]

    @property
    def servers(self) -> tuple[Server, ...]:
        """From the clients on."""
        return (self.node_local, *self.dnsmasqs, self.upstream)


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start all servers, and check that a query passes through each; everything is removed afterwards."""
    names, block = LabRun.begin(say), Block.unused()
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

        clients = cgroup("clients")
        many = "a dnsmasq" if parameters.replicas == 1 else f"{parameters.replicas} dnsmasq"
        limit = f"{parameters.limit} TCP connections at most"
        say(f"Starting an upstream that takes {parameters.delay_ms:g} ms, {many} with {limit} and a node-local CoreDNS")
        endpoint = (block.address(2, 1), free_port(block.address(2, 1), 10053))
        corefile = coredns.slow_corefile(endpoint, parameters.delay_ms, READY)
        upstream = running(coredns.configured("upstream", endpoint, folder, cgroup("upstream"), corefile))
        dnsmasqs = []
        for index in range(1, parameters.replicas + 1):
            name, address = f"dnsmasq-{index}", block.address(1, index)
            own = (address, free_port(address, 53))
            made = dnsmasq.server(name, own, folder, cgroup(name), endpoint, parameters.children_limit)
            dnsmasqs.append(running(made))
        endpoint = (block.address(0, 10), free_port(block.address(0, 10), 53))
        corefile = _node_local_corefile(endpoint, dnsmasqs, parameters.transport)
        node_local = running(coredns.configured("node-local-dns", endpoint, folder, cgroup("node-local-dns"), corefile))
        yield Bench(
            node_local, tuple(dnsmasqs), upstream, clients, block, folder, parameters, cgroup, running
        )  # fmt: skip


def start_dnsmasq(made: Bench, index: int) -> Server:
    """Start another one, the `index`-th."""
    name, address = f"dnsmasq-{index}", made.addresses.address(1, index)
    upstream = (made.upstream.address, made.upstream.port)
    own = (address, free_port(address, 53))
    limit = made.parameters.children_limit
    return made.running(dnsmasq.server(name, own, made.folder, made.cgroup(name), upstream, limit))


def _node_local_corefile(endpoint: tuple[str, int], upstreams: list[Server], transport: str) -> str:
    """As in kubernetes/dns's nodelocaldns.yaml, which GKE uses, with the lab's addresses.

    CoreDNS picks one at random, as a Service does. In turn, all that it retries would go to the first of them: that
    overflows when the connections of all end together.
    """
    address, port = endpoint
    targets = " ".join(f"{one.address}:{one.port}" for one in upstreams)
    forward = f"""    forward . {targets} {{
        {transport}
        expire 1s
    }}"""
    return f"""cluster.local:{port} {{
    bind {address}
    errors
    cache {{
        success 9984 30
        denial 9984 5
    }}
{forward}
    prometheus {address}:{free_port(address, 9253)}
}}
.:{port} {{
    bind {address}
    errors
    cache 30
{forward}
}}
"""


def run(made: Bench, say: Say) -> Run:
    """Send the load and measure. Raises LabError if a server dies or the driver cannot keep up."""
    p = made.parameters
    rise = Rise.soon(p, NAMES, made.addresses, say, volley=p.volley)
    idle = IdleConnections(made.dnsmasqs, made.addresses.address(4, 1), p.limit)
    with idle, Watcher(made.dnsmasqs, idle.react if p.idle else None) as watcher:
        result = rise.send(made.node_local, made.clients, made.folder / "load.bin")
        readings = watcher.readings()
    if ended := [one.name for one in made.servers if not one.is_running()]:
        raise LabError(f"{', '.join(ended)} exited during the run.")
    check_pace(result, say)
    figures = measured(result, readings, p.limit, p.slow_ms, rise.from_us, rise.to_us)
    # The load can make a query slow that is not overdue yet when it begins.
    calm = slow_share(result, p.slow_ms, rise.start_us, rise.from_us - int(p.slow_ms * 1e3))
    if calm is not None and p.is_disturbed(calm):
        say(f"{100 * calm:.1f} % of the queries before the load were slow: something else disturbed the servers")
    return Run(rise.from_us, rise.to_us, figures, first_servfail_us(result, rise.from_us), calm, result)
