"""A cluster's DNS with pods that query it: real CoreDNS servers, real resolvers, and the lab's own counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from labs import coredns
from labs.addresses import Block
from labs.cgroups import LabCgroup, LabRun
from labs.console import Say
from labs.errors import LabError
from labs.figures import TICK_US
from labs.links import Network
from labs.pace import tick_after
from labs.search.figures import SearchFigures, measured, responses
from labs.search.pods import Pod
from labs.search.variants import Parameters
from labs.servers import Server, free_port

_LEAD_S = 0.5
_LONGEST_S = 60.0  # a resolver gives up after two attempts of 5 s for each search domain
_READY = "ready.lab.test"


@dataclass(frozen=True, slots=True)
class Run:
    """What happened in [from_us, to_us), as measured by the lab itself."""

    from_us: int
    to_us: int
    figures: SearchFigures


@dataclass(frozen=True, slots=True)
class Bench:
    """The running servers and waiting pods, each in its own cgroup."""

    cluster_dns: Server
    outside: Server
    pods: tuple[Pod, ...]
    metrics: str
    parameters: Parameters


@contextmanager
def bench(parameters: Parameters, folder: Path, say: Say) -> Iterator[Bench]:
    """Start servers and pods, and check that a name is answered; everything is removed afterwards."""
    names, block, network = LabRun.begin(say), Block.unused(), Network.unused()
    with ExitStack() as stack:

        def cgroup(name: str) -> LabCgroup:
            made = names.cgroup(name)
            stack.callback(made.remove)
            made.create()
            return made

        def running(name: str, endpoint: tuple[str, int], corefile: str) -> Server:
            server = coredns.configured(name, endpoint, folder, cgroup(name), corefile)
            server.start(_READY)
            stack.callback(server.stop)
            return server

        say(f"Starting {parameters.pods} pods with ndots:{parameters.ndots} and the DNS of their cluster")
        pods = []
        for number in range(parameters.pods):
            pods.append(Pod(number, parameters, network, cgroup(f"pod-{number}"), folder))
            stack.callback(pods[-1].stop)
        endpoint = (block.address(2, 1), free_port(block.address(2, 1), 53))
        outside = running("outside", endpoint, _outside_corefile(endpoint, parameters.delay_ms))
        metrics = f"{block.address(0, 10)}:{free_port(block.address(0, 10), 9153)}"
        # The pods reach it at the machine's address on the first link.
        own = (network.host(0), free_port(network.host(0), 53))
        if own[1] != 53:
            raise LabError(
                "Another server listens on port 53 of every address, where the pods' resolvers send their queries."
            )
        cluster_dns = running("cluster-dns", own, _cluster_corefile(own, metrics, parameters.cache_s, outside))
        yield Bench(cluster_dns, outside, tuple(pods), f"http://{metrics}/metrics", parameters)


def _cluster_corefile(endpoint: tuple[str, int], metrics: str, cache_s: int, outside: Server) -> str:
    """A cluster's CoreDNS: it knows services, answers NXDOMAIN for other names of its zone, and forwards the rest."""
    address, port = endpoint
    head = f"    bind {address}\n    errors\n    prometheus {metrics}\n    cache {cache_s}"
    return rf"""cluster.local:{port} {{
{head}
    template IN A {{
        match ^svc[0-9]+\.team-[a-z0-9]+\.svc\.cluster\.local\.$
        answer "{{{{ .Name }}}} 30 IN A 10.96.0.17"
        fallthrough
    }}
    template IN AAAA {{
        match ^svc[0-9]+\.team-[a-z0-9]+\.svc\.cluster\.local\.$
        rcode NOERROR
        authority "{coredns.SOA}"
        fallthrough
    }}
    template ANY ANY {{
        rcode NXDOMAIN
        authority "{coredns.SOA}"
    }}
}}
.:{port} {{
{head}
    forward . {outside.address}:{outside.port}
}}
"""


def _outside_corefile(endpoint: tuple[str, int], delay_ms: float) -> str:
    """Stands in for the resolver of everything outside the cluster, and for the one of a cloud's own zones."""
    denying = coredns.denying(endpoint, ["missing.example", "internal"], delay_ms)
    return denying + coredns.slow_corefile(endpoint, delay_ms, _READY)


def run(made: Bench, say: Say) -> Run:
    """Let the pods look up names, and measure. Raises LabError if a server or a pod dies."""
    p = made.parameters
    say(f"{p.qps:g} names looked up per second for {p.seconds:g} s")
    before = responses(_page(made.metrics))
    from_us = tick_after(time.time() + _LEAD_S)
    for pod in made.pods:
        pod.begin(from_us)
    done = [pod.finish(p.seconds + _LONGEST_S) for pod in made.pods]
    after = responses(_page(made.metrics))
    if ended := [one.name for one in (made.cluster_dns, made.outside) if not one.is_running()]:
        raise LabError(f"{', '.join(ended)} exited during the run.")
    to_us = from_us + round(p.seconds * 1e6 / TICK_US) * TICK_US
    return Run(from_us, to_us, measured(done, before, after, p.seconds))


def _page(url: str) -> str:
    try:
        return httpx.get(url, timeout=10).raise_for_status().text
    except httpx.HTTPError as error:
        raise LabError(f"CoreDNS does not give its metrics at {url}: {error}") from error
