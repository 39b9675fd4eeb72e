"""Case 1 on the cluster: a CoreDNS Deployment with a CPU limit and a large hosts file, and a pod that queries it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import Field

from labs.console import Say
from labs.coredns import WIDE_NAMES, write_hosts
from labs.kubernetes import objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import LOAD_S, Case, Fault, Parameters
from labs.kubernetes.layout import DNS_SERVICE

_FLOWS = 16
_COREFILE = """.:53 {
    errors
    health
    hosts /hosts/hosts {
        reload 0
    }
}
"""


class Load(Parameters):
    """A server, and what it is asked."""

    records: int = Field(500_000, ge=1_000, le=2_000_000, description="names in CoreDNS's hosts file")
    cpu_limit_m: int = Field(500, ge=20, le=16_000, description="CPU limit of each replica in millicores")
    qps: float = Field(1_000, gt=0, le=20_000, description="queries per second, for all replicas")
    replicas: int = Field(1, ge=1, le=50, description="replicas of the Deployment")


@contextmanager
def _served(cluster: Cluster, p: Load, say: Say) -> Iterator[Fault]:
    """The server under load."""
    many = "CoreDNS" if p.replicas == 1 else f"{p.replicas} replicas of CoreDNS"
    say(f"Deploying {many} with {p.records:,} names and a CPU limit of {p.cpu_limit_m}m")
    hosts = cluster.files.folder / "hosts"
    hosts.mkdir(exist_ok=True)
    write_hosts(hosts / "hosts", p.records)
    objects.load_coredns(cluster)
    objects.load_driver(cluster)
    limits = {"cpu": f"{p.cpu_limit_m}m", "memory": "1Gi"}
    server = objects.coredns("coredns", _COREFILE, DNS_SERVICE, limits=limits, hosts=str(hosts), replicas=p.replicas)
    # A Service sends each UDP flow to one of the replicas.
    sockets = 1 if p.replicas == 1 else _FLOWS * p.replicas
    load = objects.driver(
        "dns-load",
        f"--names={','.join(WIDE_NAMES)}",
        f"--seconds={LOAD_S}",
        f"--qps={p.qps:g}",
        f"--sockets={sockets}",
    )
    with objects.running(cluster, (server, load)):
        pod = objects.pods_of(cluster, server)[0]
        yield Fault(pod["metadata"]["name"], lambda: objects.must_run(cluster, load))


CASE = Case(
    name="1",
    title="CoreDNS with a CPU limit and a large hosts file; garbage collection",
    cause="cpu/gc_throttling",
    fix="raise_cpu_limit",
    parameters=Load,
    made=_served,
)
