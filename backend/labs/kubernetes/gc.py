"""Case 1 on the cluster: a CoreDNS Deployment with a CPU limit and a large hosts file, and a pod that queries it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from labs.console import Say
from labs.coredns import WIDE_NAMES, write_hosts
from labs.kubernetes import objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import Case, Fault
from labs.kubernetes.layout import DNS_SERVICE

_RECORDS, _QPS, _SECONDS = 500_000, 1_000, 1_500
_LIMIT = "500m"
_COREFILE = """.:53 {
    errors
    health
    hosts /hosts/hosts {
        reload 0
    }
}
"""


@contextmanager
def _served(cluster: Cluster, say: Say) -> Iterator[Fault]:
    """The server under load."""
    say(f"Deploying CoreDNS with {_RECORDS:,} names and a CPU limit of {_LIMIT}")
    hosts = cluster.files.folder / "hosts"
    hosts.mkdir(exist_ok=True)
    write_hosts(hosts / "hosts", _RECORDS)
    objects.load_coredns(cluster)
    objects.load_driver(cluster)
    limits = {"cpu": _LIMIT, "memory": "1Gi"}
    server = objects.coredns("coredns", _COREFILE, DNS_SERVICE, limits=limits, hosts=str(hosts))
    load = objects.driver("dns-load", f"--names={','.join(WIDE_NAMES)}", f"--seconds={_SECONDS}", f"--qps={_QPS}")
    with objects.running(cluster, (server, load)):
        [pod] = objects.pods_of(cluster, server)
        yield Fault(pod["metadata"]["name"], lambda: objects.must_run(cluster, load))


CASE = Case(
    number=1,
    title="CoreDNS with a CPU limit and a large hosts file; garbage collection",
    cause="cpu/gc_throttling",
    fix="raise_cpu_limit",
    made=_served,
)
