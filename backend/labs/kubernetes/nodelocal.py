"""Case 4 on the cluster: NodeLocal DNSCache, which forwards over TCP, before kube-dns, whose dnsmasq serves 20.

CoreDNS stands for node-cache, which is CoreDNS with a program around it that sets up the node, and for the container
`kubedns`. dnsmasq is real.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pydantic import Field

from labs import coredns, dnsmasq, packages
from labs.console import Say
from labs.kubernetes import images, objects
from labs.kubernetes.cluster import Cluster
from labs.kubernetes.fault import LOAD_S, Case, Fault, Parameters
from labs.kubernetes.layout import DNS_SERVICE, UPSTREAM_SERVICE
from labs.kubernetes.objects import COREDNS, SYSTEM, Object, Workload
from labs.nodelocal.bench import NAMES

_IMAGE = "jitterscope-lab/dnsmasq:1"
_NODE_LOCAL, _KUBE_DNS = "node-local-dns", "kube-dns"
# Where pods find NodeLocal DNSCache on each node.
_ADDRESS = "169.254.20.10"
_BEHIND = 10053  # of kubedns
# Services are listed every 2 min, or after 30 s if containers of another namespace started.
_KNOWN_S = 45.0


class Queries(Parameters):
    """As in the lab nodelocal-dnsmasq: each query needs a connection for as long as kubedns takes."""

    qps: float = Field(800, gt=0, le=10_000, description="queries per second")
    delay_ms: float = Field(50, ge=1, le=10_000, description="answer time of kubedns in ms")
    replicas: int = Field(1, ge=1, le=15, description="replicas of kube-dns")


@contextmanager
def _exhausted(cluster: Cluster, p: Queries, say: Say) -> Iterator[Fault]:
    """NodeLocal DNSCache on each node, kube-dns behind it, and the pod whose queries need too many connections."""
    say(f"Deploying {_KUBE_DNS} with {p.replicas} dnsmasq before a resolver that takes {p.delay_ms:g} ms")
    objects.load_coredns(cluster)
    objects.load_driver(cluster)
    # dnsmasq looks up the user that it runs as.
    passwd, group = cluster.files.folder / "passwd", cluster.files.folder / "group"
    passwd.write_text("root:x:0:0:root:/:/bin/false\n")
    group.write_text("root:x:0:\n")
    parts = {"/dnsmasq": dnsmasq.executable()[0], "/etc/passwd": passwd, "/etc/group": group}
    cluster.load(images.Image(_IMAGE, parts))
    server, cache = _kube_dns(p), _node_local()
    load = objects.driver(
        "dns-load",
        f"--names={','.join(NAMES)}",
        "--unique=true",
        f"--seconds={LOAD_S}",
        f"--qps={p.qps:g}",
        server=_ADDRESS,
    )
    with ExitStack() as stack:
        stack.enter_context(_address(cluster))
        stack.enter_context(objects.running(cluster, (server, cache)))
        say(f"Waiting {_KNOWN_S:g} s until the collector has listed the Services")
        time.sleep(_KNOWN_S)
        stack.enter_context(objects.running(cluster, (load,)))
        pod = objects.pods_of(cluster, server)[0]

        def goes_on() -> bool:
            objects.must_run(cluster, server)  # a fix may replace its pods
            return objects.must_run(cluster, load)

        # The kubelet writes a changed ConfigMap into pods within a minute, and CoreDNS reads it within 45 s.
        yield Fault(pod["metadata"]["name"], goes_on, to_notice_s=150.0)


@contextmanager
def _address(cluster: Cluster) -> Iterator[None]:
    """What node-cache does on its node; it makes a dummy link for it, which not every kernel has."""
    try:
        for node in cluster.nodes:
            cluster.on_node("ip", "address", "add", f"{_ADDRESS}/32", "dev", "lo", node=node)
        yield
    finally:
        for node in cluster.nodes:
            cluster.on_node("sh", "-c", f"ip address delete {_ADDRESS}/32 dev lo || true", node=node)


def _node_local() -> Workload:
    """The DaemonSet with the names and the Corefile of kubernetes/dns's nodelocaldns.yaml, as far as this uses it."""
    corefile = f"""cluster.local:53 {{
    errors
    cache {{
        success 9984 30
        denial 9984 5
    }}
    reload
    bind {_ADDRESS}
    forward . {UPSTREAM_SERVICE} {{
        force_tcp
    }}
    prometheus :9253
    health {_ADDRESS}:8080
}}
.:53 {{
    errors
    cache 30
    reload
    bind {_ADDRESS}
    forward . {UPSTREAM_SERVICE} {{
        force_tcp
    }}
    prometheus :9253
}}
"""
    labels = {"k8s-app": _NODE_LOCAL}
    container: Object = {
        "name": "node-cache",
        "image": COREDNS,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "readinessProbe": {"httpGet": {"host": _ADDRESS, "path": "/health", "port": 8080}, "periodSeconds": 2},
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    pod: Object = {
        "dnsPolicy": "Default",
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 2,
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": "config-volume", "configMap": {"name": _NODE_LOCAL}}],
    }
    made = (
        objects.made("v1", "ConfigMap", _NODE_LOCAL, SYSTEM, data={"Corefile": corefile}),
        objects.daemon_set(_NODE_LOCAL, SYSTEM, labels, pod),
    )
    return Workload(_NODE_LOCAL, SYSTEM, labels, made, kind="daemonset")


def _kube_dns(p: Queries) -> Workload:
    """Its Deployment with dnsmasq as GKE starts it, and both Services: for pods, and for NodeLocal DNSCache."""
    labels = {"k8s-app": _KUBE_DNS}
    corefile = f".:{_BEHIND} {{\n    bind 127.0.0.1\n    errors\n    health\n    erratic {{\n        "
    corefile += f"{coredns.delay(p.delay_ms)}\n    }}\n}}\n"
    environment = dnsmasq.executable()[1]
    volumes, mounts = objects.shown(*objects.programs(*packages.libraries(environment)))
    behind: Object = {
        "name": "kubedns",
        "image": COREDNS,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "readinessProbe": {"httpGet": {"path": "/health", "port": 8080}, "periodSeconds": 2},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    before: Object = {
        "name": "dnsmasq",
        "image": _IMAGE,
        "imagePullPolicy": "Never",
        "command": ["/dnsmasq", *dnsmasq.arguments(("127.0.0.1", _BEHIND))],
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "volumeMounts": mounts,
    }
    pod: Object = {
        "dnsPolicy": "Default",
        "containers": [behind, before],
        "volumes": [*volumes, {"name": "config", "configMap": {"name": _KUBE_DNS}}],
    }
    ports = [{"name": f"dns-{one.lower()}", "port": 53, "protocol": one} for one in ("UDP", "TCP")]

    def service(name: str, address: str) -> Object:
        return objects.made(
            "v1", "Service", name, SYSTEM, spec={"clusterIP": address, "selector": labels, "ports": ports}
        )

    made = (
        objects.made("v1", "ConfigMap", _KUBE_DNS, SYSTEM, data={"Corefile": corefile}),
        objects.deployment(_KUBE_DNS, SYSTEM, labels, pod, p.replicas),
        service(_KUBE_DNS, DNS_SERVICE),
        service(f"{_KUBE_DNS}-upstream", UPSTREAM_SERVICE),
    )
    return Workload(_KUBE_DNS, SYSTEM, labels, made)


CASE = Case(
    name="4",
    title="NodeLocal DNSCache that needs more TCP connections than kube-dns's dnsmasq serves",
    cause="dns/dnsmasq_connection_exhaustion",
    fix="prefer_udp",
    parameters=Queries,
    made=_exhausted,
)
